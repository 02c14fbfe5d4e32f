//! The calls of the ONNX runtime: sessions, tables in, probabilities out.

use std::collections::HashMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use ort::environment::Environment;
use ort::session::builder::GraphOptimizationLevel;
use ort::session::{Session, SessionInputValue};
use ort::value::{
    DynMap, DynValue, Outlet, PrimitiveTensorElementType, Tensor, TensorElementType, ValueType,
};

use super::OnnxParams;
use super::graph::OnnxGraph;
use super::input_values::{InputValues, row_by_row};
use super::library::environment;
use crate::data::FeatureRows;
use crate::data::exchange::row_stream::ClassPosition;
use crate::error::{Fault, Result};
use crate::model::Scorer;
use crate::model::contract::{
    InputColumns, InputKind, MissingAs, ModelContract, ModelInput, ModelSignature, ScoreOutput,
    ScoreTerm,
};
use crate::num::float_precision::FloatPrecision;

/// Rows per block.
const BLOCK_ROWS: usize = 4096;

/// An ONNX model that is ready to score.
pub(crate) struct OnnxScorer {
    params: OnnxParams,
    environment: Environment,
    inputs: Vec<OnnxInput>,
    /// The number of rows that the model takes at a time; none where that is open.
    batch: Option<usize>,
    output: String,
    score: ScoreTerm,
    /// In how many bits the output holds the probabilities.
    precision: FloatPrecision,
    /// Sessions that are not in use.
    idle: Mutex<Vec<Session>>,
}

struct OnnxInput {
    name: String,
    element: TensorElementType,
    /// Whether it is a vector and not a matrix.
    flat: bool,
    columns: Vec<usize>,
}

/// An input as the runtime describes it.
struct InputShape<'s> {
    name: &'s str,
    element: TensorElementType,
    /// Whether it is a vector and not a matrix.
    flat: bool,
    /// The number of rows, where it is fixed.
    batch: Option<usize>,
    /// The number of columns, where it is fixed.
    width: Option<usize>,
}

/// The inputs of a model.
fn input_shapes<'s>(params: &OnnxParams, session: &'s Session) -> Result<Vec<InputShape<'s>>> {
    let shape = |input: &'s Outlet| {
        let (name, kind) = (input.name(), input.dtype());
        let (Some(element), Some(shape)) = (kind.tensor_type(), kind.tensor_shape()) else {
            let what = format!("the input `{name}` of the model is not a table");
            return Err(params.bad(what).into());
        };
        let fixed = |at: usize| {
            let n = shape.get(at).copied().and_then(|n| usize::try_from(n).ok());
            n.filter(|n| *n > 0)
        };
        let flat = shape.len() < 2;
        let width = if flat { Some(1) } else { fixed(1) };
        Ok(InputShape { name, element, flat, batch: fixed(0), width })
    };
    session.inputs().iter().map(shape).collect()
}

impl OnnxScorer {
    /// What the file says about itself, by the runtime from the first of these places that has it.
    ///
    /// # Errors
    /// No place has the library; the file is not a model that it can load, or gives nothing that
    /// could be a score.
    pub(crate) fn signature(params: &OnnxParams, libraries: &[PathBuf]) -> Result<ModelSignature> {
        let environment = environment(libraries, params)?;
        let session = open_session(params, &environment)?;
        let shapes = input_shapes(params, &session)?;
        // The runtime has read the file: a graph that cannot be read here gives no classes and
        // levels.
        let graph = OnnxGraph::read(&params.path).unwrap_or_default();
        let widths: Vec<(&str, usize)> =
            shapes.iter().map(|shape| (shape.name, shape.width.unwrap_or(0))).collect();
        let mut levels = graph.levels(&widths);
        let inputs = shapes.iter().map(|shape| {
            let is_column = |name: &str| params.features.iter().any(|f| f.name == name);
            let columns = match shape.width {
                Some(1) => InputColumns::Named(vec![shape.name.to_owned()]),
                None if is_column(shape.name) => InputColumns::Named(vec![shape.name.to_owned()]),
                width => InputColumns::Unnamed(width),
            };
            let (kind, missing) = match shape.element {
                TensorElementType::String => {
                    (InputKind::Text, MissingAs::Text(params.missing_text.clone()))
                }
                TensorElementType::Bool => (InputKind::Boolean, MissingAs::Refused),
                TensorElementType::Float32 | TensorElementType::Float64 => {
                    (InputKind::Number, MissingAs::Nan)
                }
                _ => (InputKind::Integer, MissingAs::Refused),
            };
            let at = |position: usize| levels.remove(&(shape.name.to_owned(), position));
            let levels = (0..shape.width.unwrap_or(0)).map(at).collect();
            ModelInput { name: shape.name.to_owned(), columns, kind, missing, levels }
        });
        let inputs = inputs.collect();
        let output = output(params, &session)?;
        let names = session.outputs().iter().map(Outlet::name);
        let others: Vec<&str> = names.filter(|other| *other != output.name()).collect();
        let width = match output.dtype().tensor_shape().map(|shape| &shape[..]) {
            Some([] | [_]) => Some(1),
            Some([.., width]) => usize::try_from(*width).ok().filter(|width| *width > 0),
            None => None,
        };
        let output = match (width, graph.classes(output.name(), width, &others)) {
            (Some(1), _) => ScoreOutput::Single,
            (_, Some(classes)) => ScoreOutput::Classes(classes),
            (width, None) => ScoreOutput::Unnamed(width),
        };
        Ok(ModelSignature { inputs, output })
    }

    /// Loads the library, from the first of these places that has it, and the model.
    ///
    /// # Errors
    /// No place has the library; the file is not a model that it can load; the rows lack a column
    /// of the contract.
    pub(crate) fn load(
        params: OnnxParams,
        contract: &ModelContract,
        libraries: &[PathBuf],
    ) -> Result<OnnxScorer> {
        let environment = environment(libraries, &params)?;
        let session = open_session(&params, &environment)?;
        let shapes = input_shapes(&params, &session)?;
        let batch = shapes.iter().find_map(|shape| shape.batch);
        let mut inputs = Vec::new();
        for InputShape { name, element, flat, .. } in shapes {
            let columns = contract.features(name, &params.features);
            let columns = columns.map_err(|what| params.bad(what))?;
            inputs.push(OnnxInput { name: name.to_owned(), element, flat, columns });
        }
        let output = output(&params, &session)?;
        let is_double = output.dtype().tensor_type() == Some(TensorElementType::Float64);
        let (output, precision) = (output.name().to_owned(), FloatPrecision::single_if(!is_double));
        let (score, idle) = (contract.score.clone(), Mutex::new(vec![session]));
        Ok(OnnxScorer { params, environment, inputs, batch, output, score, precision, idle })
    }

    /// Scores the rows `at` of the values of each input, the last one repeated up to `n` rows.
    fn block(
        &self,
        session: &mut Session,
        inputs: &[InputValues],
        (at, n): (&Range<usize>, usize),
        scores: &mut Vec<f64>,
    ) -> Result<()> {
        let mut values: Vec<(&str, SessionInputValue<'_>)> = Vec::new();
        for (input, all) in self.inputs.iter().zip(inputs) {
            let tensor = tensor(input, all, at, n)
                .map_err(|e| self.params.bad_by("rows do not fit the model", &e))?;
            values.push((input.name.as_str(), tensor.into()));
        }
        let outputs = session.run(values);
        let mut outputs = outputs.map_err(|e| self.params.bad_by("the model failed", &e))?;
        let output = outputs.remove(self.output.as_str());
        let lacks = || format!("the model did not return the output `{}`", self.output);
        self.read(output.ok_or_else(|| self.params.bad(lacks()))?, n, scores)
    }

    /// The values of an input for the rows at these positions.
    fn values(&self, input: &OnnxInput, rows: &FeatureRows, at: &[usize]) -> Result<InputValues> {
        let (params, columns) = (&self.params, input.columns.iter());
        let whole = match input.element {
            TensorElementType::Float32 | TensorElementType::Float64 => false,
            TensorElementType::Int64 | TensorElementType::Int32 | TensorElementType::Bool => true,
            TensorElementType::String => {
                let words = columns.map(|&c| params.words(rows, at, c));
                return Ok(InputValues::Texts(words.collect()));
            }
            other => {
                let what = format!(
                    "the input `{}` of the model takes values of type {other:?}",
                    input.name
                );
                let hint = "export it with inputs of floats, whole numbers or strings";
                return params.bad(what).fail(hint);
            }
        };
        let column = |&c: &usize| {
            let numbers = params.numbers(rows, at, c)?;
            if whole {
                params.check_whole(c, input.element, &numbers)?;
            }
            Ok(numbers)
        };
        columns.map(column).collect::<Result<_>>().map(InputValues::Numbers)
    }

    /// Reads the scores of an output for `n` rows.
    fn read(&self, output: DynValue, n: usize, scores: &mut Vec<f64>) -> Result<()> {
        let (params, output_is) = (&self.params, format!("the output `{}`", self.output));
        let failed = |e: ort::Error| params.bad_by(&format!("{output_is} cannot be read"), &e);
        if matches!(output.dtype(), ValueType::Sequence(_)) {
            let sequence = output.downcast::<ort::value::DynSequenceValueType>().map_err(failed)?;
            let maps: Vec<DynMap> = sequence.try_extract_sequence().map_err(failed)?;
            if maps.len() != n {
                let what = format!("{output_is} has {} entries for {n} rows", maps.len());
                return Err(params.bad(what).into());
            }
            return maps.iter().try_for_each(|map| self.entries(map, scores));
        }
        let (shape, values): (Vec<i64>, Vec<f64>) = match output.dtype().tensor_type() {
            Some(TensorElementType::Float64) => {
                let (shape, values) = output.try_extract_tensor::<f64>().map_err(failed)?;
                (shape.to_vec(), values.to_vec())
            }
            _ => {
                let (shape, values) = output.try_extract_tensor::<f32>().map_err(failed)?;
                (shape.to_vec(), values.iter().map(|&x| f64::from(x)).collect())
            }
        };
        let is_of_rows = shape.first() == i64::try_from(n).ok().as_ref()
            || n == 1 && shape.is_empty() && self.batch == Some(1);
        if n == 0 || values.len() % n != 0 || values.is_empty() || !is_of_rows {
            let what = format!("{output_is} has the shape {shape:?} for {n} rows");
            return Err(params.bad(what).into());
        }
        let width = values.len() / n;
        let places = self.score.places(width).ok_or_else(|| self.misfit(width))?;
        values
            .chunks(width)
            .flat_map(|row: &[f64]| places.iter().map(move |&at| row[at]))
            .try_for_each(|score| params.checked(score).map(|score| scores.push(score)))
    }

    /// What is wrong where a row of this many numbers does not have the scores.
    fn misfit(&self, width: usize) -> Fault {
        let refusal = match self.score.by_class.len() {
            0 => ClassPosition::refusal(width),
            n => format!("gives {width} numbers for a row, and the label has {n} classes"),
        };
        self.params.bad(format!("the output `{}` {refusal}", self.output))
    }

    /// Appends the probabilities of the classes of the scores in the map of a row.
    fn entries(&self, map: &DynMap, scores: &mut Vec<f64>) -> Result<()> {
        let found: HashMap<String, f32> = match map.try_extract_map::<i64, f32>() {
            Ok(numbers) => numbers.into_iter().map(|(of, p)| (of.to_string(), p)).collect(),
            Err(_) => map.try_extract_map().map_err(|e| {
                self.params.bad_by(&format!("the output `{}` cannot be read", self.output), &e)
            })?,
        };
        let names = self.score.names().unwrap_or_else(|| vec![""]);
        if names.len() > 1 && names.len() != found.len() {
            return Err(self.misfit(found.len()).into());
        }
        for class in names {
            let score = found.get(class).ok_or_else(|| {
                let what =
                    format!("the model gives no probability of the class `{class}` for a row");
                self.params.bad(what)
            })?;
            scores.push(self.params.checked(f64::from(*score))?);
        }
        Ok(())
    }
}

impl Scorer for OnnxScorer {
    fn score(&self, rows: &FeatureRows, scores: &mut Vec<f64>) -> Result<()> {
        if rows.n == 0 {
            return Ok(());
        }
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut session = match idle {
            Some(session) => session,
            None => open_session(&self.params, &self.environment)?,
        };
        let all: Vec<usize> = (0..rows.n).collect();
        let step = self.batch.unwrap_or(BLOCK_ROWS);
        // The values of many rows are made at once, also for a model that takes few at a time.
        for block in all.chunks(step * (BLOCK_ROWS / step).max(1)) {
            let values = |input: &OnnxInput| self.values(input, rows, block);
            let inputs = self.inputs.iter().map(values).collect::<Result<Vec<_>>>()?;
            for from in (0..block.len()).step_by(step) {
                let at = from..block.len().min(from + step);
                let end = scores.len() + at.len() * self.width();
                // The number of rows that the model takes; the last row is repeated.
                let n = self.batch.unwrap_or(2).max(at.len());
                self.block(&mut session, &inputs, (&at, n), scores)?;
                scores.truncate(end);
            }
        }
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(session);
        Ok(())
    }

    fn width(&self) -> usize {
        self.score.by_class.len().max(1)
    }

    fn precision(&self) -> FloatPrecision {
        self.precision
    }
}

/// Rows of the values of an input as a tensor of the runtime, the last one repeated up to `n` rows.
fn tensor(
    input: &OnnxInput,
    values: &InputValues,
    at: &Range<usize>,
    n: usize,
) -> Result<DynValue, ort::Error> {
    /// Numbers of one type.
    fn numbers<T: PrimitiveTensorElementType + std::fmt::Debug + Clone + 'static>(
        shape: Vec<usize>,
        values: &[f64],
        convert: impl Fn(f64) -> T,
    ) -> Result<DynValue, ort::Error> {
        let values: Vec<T> = values.iter().map(|&x| convert(x)).collect();
        Tensor::from_array((shape, values)).map(Tensor::into_dyn)
    }
    let shape = if input.flat { vec![n] } else { vec![n, input.columns.len()] };
    let all = match values {
        InputValues::Numbers(columns) => row_by_row(columns, at, n),
        InputValues::Texts(columns) => {
            let texts = row_by_row(columns, at, n);
            return Tensor::from_string_array((shape, texts.as_slice())).map(Tensor::into_dyn);
        }
    };
    match input.element {
        TensorElementType::Float32 => numbers(shape, &all, |x| x as f32),
        TensorElementType::Int64 => numbers(shape, &all, |x| x as i64),
        TensorElementType::Int32 => numbers(shape, &all, |x| x as i32),
        TensorElementType::Bool => numbers(shape, &all, |x| x != 0.0),
        _ => numbers(shape, &all, |x| x),
    }
}

fn open_session(params: &OnnxParams, environment: &Environment) -> Result<Session> {
    let session = || {
        Session::builder(environment)?
            .with_optimization_level(GraphOptimizationLevel::Level3)?
            .with_intra_threads(1)?
            .with_inter_threads(1)?
            .commit_from_file(&params.path)
    };
    session().map_err(|e: ort::Error| {
        let hint =
            "the file must be an ONNX model with operators that the installed runtime supports";
        params.bad_by("the ONNX runtime does not accept the model", &e).hint(hint).into()
    })
}

/// The output that holds the probabilities.
fn output<'s>(params: &OnnxParams, session: &'s Session) -> Result<&'s Outlet> {
    let outputs = session.outputs();
    let may_hold: Vec<&Outlet> = outputs.iter().filter(|output| holds_scores(output)).collect();
    let hint = if may_hold.is_empty() {
        "export the model with its probabilities; if it has none, audit its decisions as a column \
         of the rows, by `decision`"
            .to_owned()
    } else {
        let names: Vec<String> = may_hold.iter().map(|of| format!("`{}`", of.name())).collect();
        format!("name the one that holds the probabilities under `output`: {}", names.join(", "))
    };
    let holds = |output: &Outlet| {
        let what = match output.dtype().tensor_type() {
            Some(TensorElementType::Int64 | TensorElementType::Int32) => "whole numbers".to_owned(),
            Some(element) => format!("values of type {element:?}"),
            None => "no table".to_owned(),
        };
        format!("the output `{}` of the model holds {what}", output.name())
    };
    if let Some(name) = &params.output {
        return match outputs.iter().find(|output| output.name() == name) {
            Some(output) if holds_scores(output) => Ok(output),
            Some(output) => {
                let what = format!("{}, not probabilities", holds(output));
                params.bad(what).fail(hint)
            }
            None => params.bad(format!("the model has no output `{name}`")).fail(hint),
        };
    }
    let is_named = |output: &&&Outlet| output.name().to_lowercase().contains("prob");
    let named: Vec<&Outlet> = may_hold.iter().filter(is_named).copied().collect();
    let what = match (&named[..], &may_hold[..]) {
        ([one], _) | ([], [one]) => return Ok(one),
        (_, []) => format!(
            "no output of the model holds probabilities: {}",
            outputs.iter().map(holds).collect::<Vec<_>>().join(", ")
        ),
        _ => "several outputs of the model may hold the probabilities".to_owned(),
    };
    params.bad(what).fail(hint)
}

/// Whether an output may hold the probabilities: numbers with a fraction, or maps of them.
fn holds_scores(output: &Outlet) -> bool {
    let kind = output.dtype();
    matches!(kind.tensor_type(), Some(TensorElementType::Float32 | TensorElementType::Float64))
        || matches!(kind, ValueType::Sequence(of) if matches!(**of, ValueType::Map { .. }))
}
