//! The deployments that a file's text holds.

use std::path::Path;

use serde_json::Value;

/// Takes the text apart: documents, lists and `deployments:` may be mixed.
///
/// # Errors
/// What is wrong with the text, with its line where that is known.
pub(crate) fn split(path: &Path, text: &str) -> Result<Vec<Value>, String> {
    let documents = if path.extension().is_some_and(|ext| ext == "json") {
        vec![serde_json::from_str(text).map_err(|error| error.to_string())?]
    } else {
        thermocline_wire::documents(text)?
    };
    let mut specs = Vec::new();
    for document in documents {
        specs.extend(members(document)?);
    }
    match specs.is_empty() {
        true => Err("holds no deployment".to_owned()),
        false => Ok(specs),
    }
}

fn members(document: Value) -> Result<Vec<Value>, String> {
    match document {
        Value::Array(specs) => Ok(specs),
        Value::Object(mut map) if map.contains_key("deployments") => {
            match (map.remove("deployments"), map.is_empty()) {
                (Some(Value::Array(specs)), true) => Ok(specs),
                (_, true) => Err("`deployments` must be a list".to_owned()),
                (_, false) => Err("nothing may stand beside `deployments`".to_owned()),
            }
        }
        spec => Ok(vec![spec]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(file: &str, text: &str) -> Result<Vec<String>, String> {
        let specs = split(Path::new(file), text)?;
        let name = |spec: &Value| spec["name"].as_str().unwrap().to_owned();
        Ok(specs.iter().map(name).collect())
    }

    #[test]
    fn documents_lists_and_a_deployments_key_are_the_same_to_us() {
        let texts = [
            "name: a\n---\nname: b\n---\n",
            "- name: a\n- name: b\n",
            "deployments:\n- name: a\n- name: b\n",
            "- name: a\n---\ndeployments: [{name: b}]\n",
        ];
        for text in texts {
            assert_eq!(names("f.yaml", text).unwrap(), ["a", "b"], "{text}");
        }
        let json = "[{\"name\":\"a\"},\n\t{\"name\":\"b\"}]";
        assert_eq!(names("f.json", json).unwrap(), ["a", "b"]);
    }

    #[test]
    fn a_text_without_deployments_is_a_mistake() {
        let wrong = |text: &str| names("f.yaml", text).unwrap_err();
        assert_eq!(wrong("# nothing\n"), "holds no deployment");
        assert_eq!(wrong("deployments: 3\n"), "`deployments` must be a list");
        assert_eq!(
            wrong("deployments: []\nname: a\n"),
            "nothing may stand beside `deployments`"
        );
        assert!(wrong("name: a\nname: b\n").contains("duplicate"));
        assert!(wrong("name: [a\n").contains("line"));
    }

    #[test]
    fn a_number_that_is_not_finite_is_a_text_that_the_server_refuses() {
        let text = "name: a\npolicy: {promote_rps: .nan, demote_rps: -.inf}\n";
        let specs = split(Path::new("f.yaml"), text).unwrap();
        let policy = serde_json::json!({ "promote_rps": ".nan", "demote_rps": "-.inf" });
        assert_eq!(specs[0]["policy"], policy);
    }
}
