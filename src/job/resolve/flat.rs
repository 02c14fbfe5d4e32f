//! A resolved job as a flat list of values by path: what two runs are compared by.

use std::collections::BTreeMap;

use serde_json::Value;

/// The variable that represents a dollar in front of a brace that does not begin a variable.
pub(crate) const DOLLAR: &str = "dollar";

/// A text of a job in which every `${` is plain text; the job declares the variable [`DOLLAR`].
pub(crate) fn literal(text: &str) -> String {
    text.replace("${", &format!("${{vars.{DOLLAR}}}{{"))
}

/// The values of a resolved job by their path from the top, each as it reads. A list of plain
/// values is one value, as is an empty map or list; the items of other lists are numbered from 0.
///
/// # Errors Text that is not YAML, in the words of its parser.
pub(crate) fn values(yaml: &str) -> Result<BTreeMap<Vec<String>, String>, String> {
    let yaml = yaml.replace(&literal("${"), "${");
    let mut root: Value = serde_yaml::from_str(&yaml)
        .map_err(|e| e.to_string().lines().next().unwrap_or_default().to_owned())?;
    // A resolved job has no other variable.
    root.as_object_mut().map(|root| root.remove("vars"));
    let mut found = BTreeMap::new();
    walk(&mut Vec::new(), &root, &mut found);
    Ok(found)
}

fn walk(path: &mut Vec<String>, value: &Value, found: &mut BTreeMap<Vec<String>, String>) {
    let mut below = |key: String, value: &Value| {
        path.push(key);
        walk(path, value, found);
        path.pop();
    };
    match value {
        Value::Object(map) if !map.is_empty() => {
            map.iter().for_each(|(key, value)| below(key.clone(), value))
        }
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
            items.iter().enumerate().for_each(|(i, item)| below(i.to_string(), item));
        }
        other => {
            let text = other.as_str().map_or_else(|| other.to_string(), str::to_owned);
            found.insert(path.clone(), text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::values;

    #[test]
    fn values_stand_at_their_paths() {
        let found = values(
            "a: {b: 1, c.d: [x, 2]}\nflip: {naive: {}}\n\
             keep: [{age: {min: 3}}, {age: {max: 4}}]\nnone: \"\"\n",
        )
        .unwrap();
        let listed: Vec<(String, &str)> =
            found.iter().map(|(path, value)| (path.join("/"), value.as_str())).collect();
        let expected = [
            ("a/b", "1"),
            ("a/c.d", "[\"x\",2]"),
            ("flip/naive", "{}"),
            ("keep/0/age/min", "3"),
            ("keep/1/age/max", "4"),
            ("none", ""),
        ];
        assert_eq!(
            listed.iter().map(|(path, value)| (path.as_str(), *value)).collect::<Vec<_>>(),
            expected
        );
        assert!(values("a: [").is_err());
    }

    #[test]
    fn what_looks_like_a_variable_is_text() {
        for text in ["${vars.x}", "${", "a ${vars.dollar}{ ${vars.dollar}", "$ {x}"] {
            let yaml = format!("vars: {{dollar: \"$\"}}\na: '{}'\n", super::literal(text));
            assert_eq!(
                values(&yaml).unwrap(),
                [(vec!["a".to_owned()], text.to_owned())].into(),
                "{yaml}"
            );
        }
    }
}
