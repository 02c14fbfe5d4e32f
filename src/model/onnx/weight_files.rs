//! The names of the files that hold the weights of an ONNX model, read from the model.
//!
//! A model above 2 GB, and any other that was saved so, keeps tensors in files of its folder:
//! replacing such a file changes the model. This reads the fields of the protobuf that lead to
//! their names, and skips the rest without loading it.
//! Source: onnx.proto of ONNX 1.18 (`TensorProto.external_data`, key `location`, relative to the
//! folder of the model).

use std::collections::BTreeSet;
use std::path::Path;

use super::protobuf::{ProtobufFile, ProtobufValue};

/// Largest nesting of messages: attributes of nodes hold graphs, which hold nodes.
const MAX_DEPTH: usize = 100;

/// The messages whose fields are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnnxMessage {
    Model,
    Training,
    Function,
    Graph,
    Node,
    Attribute,
    SparseTensor,
    Tensor,
}

impl OnnxMessage {
    /// The message in a field, if it leads to a tensor.
    fn field(self, number: u64) -> Option<OnnxMessage> {
        use OnnxMessage::{
            Attribute, Function, Graph, Model, Node, SparseTensor, Tensor, Training,
        };
        Some(match (self, number) {
            (Model, 7) | (Training, 1 | 2) | (Attribute, 6 | 11) => Graph,
            (Model, 20) => Training,
            (Model, 25) => Function,
            (Graph, 1) | (Function, 7) => Node,
            (Node, 5) | (Function, 11) => Attribute,
            (Graph, 15) | (Attribute, 22 | 23) => SparseTensor,
            (Graph, 5) | (Attribute, 5 | 10) | (SparseTensor, 1 | 2) => Tensor,
            _ => return None,
        })
    }
}

/// Field of a tensor with the place of its values, as pairs of key and value.
const EXTERNAL_DATA: u64 = 13;

/// The locations that the tensors of a model name, each once, sorted.
///
/// # Errors
/// The file cannot be read, or is not the protobuf of a model; in words.
pub(crate) fn locations(path: &Path) -> Result<BTreeSet<String>, String> {
    let (mut file, end) = ProtobufFile::open(path)?;
    let mut found = BTreeSet::new();
    tensors(&mut file, OnnxMessage::Model, end, 0, &mut found)?;
    Ok(found)
}

/// Adds the locations of all tensors of a message that ends at `end`.
fn tensors(
    file: &mut ProtobufFile,
    message: OnnxMessage,
    end: u64,
    depth: usize,
    found: &mut BTreeSet<String>,
) -> Result<(), String> {
    if depth > MAX_DEPTH {
        return Err("it is nested too deeply".to_owned());
    }
    file.fields(end, |file, number, value| {
        let ProtobufValue::Bytes(end) = value else { return Ok(()) };
        match message.field(number) {
            Some(inner) => tensors(file, inner, end, depth + 1, found),
            None if message == OnnxMessage::Tensor && number == EXTERNAL_DATA => {
                location(file, end, found)
            }
            None => Ok(()),
        }
    })
}

/// Reads a pair of key and value; the value of a location is kept.
fn location(file: &mut ProtobufFile, end: u64, found: &mut BTreeSet<String>) -> Result<(), String> {
    let (mut key, mut value) = (String::new(), String::new());
    file.fields(end, |file, number, field| {
        match (number, field) {
            (1, ProtobufValue::Bytes(end)) => key = file.text(end)?,
            (2, ProtobufValue::Bytes(end)) => value = file.text(end)?,
            _ => {}
        }
        Ok(())
    })?;
    if key == "location" {
        found.insert(value);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::locations;
    use crate::tests::Says;

    /// A field of bytes.
    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        let tag = u64::from(number) << 3 | 2;
        let mut field = varint(tag);
        field.extend(varint(bytes.len() as u64));
        field.extend(bytes);
        field
    }

    fn varint(mut value: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        while value >= 0x80 {
            bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        bytes.push(value as u8);
        bytes
    }

    fn pair(key: &str, value: &str) -> Vec<u8> {
        field(13, &[field(1, key.as_bytes()), field(2, value.as_bytes())].concat())
    }

    fn found(bytes: &[u8]) -> Result<Vec<String>, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        locations(file.path()).map(|found| found.into_iter().collect())
    }

    /// Tensors occur in initializers, in attributes of nodes, in graphs of attributes, in functions
    /// and in sparse tensors.
    #[test]
    fn every_place_of_a_tensor_is_found() {
        let tensor = |file: &str| {
            [field(9, &[1; 300]), pair("location", file), pair("offset", "0")].concat()
        };
        let node = |inside: &[u8]| field(1, &field(5, inside));
        let graph = [
            field(5, &tensor("weights.bin")),
            field(5, &tensor("weights.bin")),
            field(15, &field(1, &tensor("sparse.bin"))),
            node(&field(5, &tensor("constant.bin"))),
            node(&field(6, &field(5, &tensor("branch.bin")))),
            field(5, &field(9, &[0; 70_000])),
        ]
        .concat();
        let function = field(7, &field(5, &field(10, &tensor("function.bin"))));
        // A version as a number, a name, the graph, a function, training.
        let model = [
            vec![8, 9],
            field(2, b"maker"),
            field(7, &graph),
            field(25, &function),
            field(20, &field(1, &field(5, &tensor("train.bin")))),
        ];
        let model = model.concat();
        let expected = [
            "branch.bin",
            "constant.bin",
            "function.bin",
            "sparse.bin",
            "train.bin",
            "weights.bin",
        ];
        assert_eq!(found(&model).unwrap(), expected);
        assert_eq!(found(&[]).unwrap(), [""; 0]);
        // A truncated file or a changed byte gives an error in words, never a panic.
        for n in 1..model.len().min(2000) {
            let _ = found(&model[..n]);
        }
        assert!(found(&model[..model.len() - 1]).is_err());
        assert!(found(b"not a model").is_err());
        let deep = (0..300).fold(Vec::new(), |inner, _| field(1, &field(5, &field(6, &inner))));
        found(&field(7, &deep)).unwrap_err().says(&["nested"]);
    }

    #[test]
    fn shipped_models_keep_their_weights_inside() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/onnx");
        let mut n = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|end| end == "onnx") {
                assert!(locations(&path).unwrap().is_empty(), "{}", path.display());
                n += 1;
            }
        }
        assert!(n > 0);
    }
}
