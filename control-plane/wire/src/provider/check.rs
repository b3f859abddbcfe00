use serde::{Deserialize, Serialize};
use thermocline_policy::Tier;

/// The answer to `POST /v1/check`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checked {
    /// What can never be done of the request.
    pub mistakes: Vec<Mistake>,
}

/// Something that a provider can never do, however often it is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mistake {
    /// Where in a specification the field stands.
    #[serde(default)]
    pub place: Place,
    /// The field there.
    pub field: String,
    /// What is wrong with it, and what is allowed; follows the field's name.
    pub message: String,
}

/// Where a field of a specification stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// In the specification itself: it is for every tier.
    #[default]
    Specification,
    /// In the tier that was asked for.
    Tier,
}

impl Mistake {
    /// A mistake in `field` of the specification itself.
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        Mistake {
            place: Place::Specification,
            field: field.into(),
            message: message.into(),
        }
    }

    /// A mistake in `field` of the tier that was asked for.
    pub fn in_tier(field: impl Into<String>, message: impl Into<String>) -> Self {
        Mistake {
            place: Place::Tier,
            ..Mistake::new(field, message)
        }
    }

    /// The field's path in a specification, where it was `tier` that was asked for.
    pub fn path(&self, tier: Tier) -> String {
        match self.place {
            Place::Specification => self.field.clone(),
            Place::Tier => format!("tiers.{tier}.{}", self.field),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_mistake_says_where_it_stands() {
        let said = json!({ "mistakes": [
            { "place": "tier", "field": "gpu[0]", "message": "m" },
            { "field": "args", "message": "m" },
        ] });
        let said: Checked = serde_json::from_value(said).unwrap();
        let [gpu, args] = &said.mistakes[..] else {
            panic!("{said:?}");
        };
        assert_eq!(*gpu, Mistake::in_tier("gpu[0]", "m"));
        assert_eq!(gpu.path(Tier::Pod), "tiers.pod.gpu[0]");
        assert_eq!(args.path(Tier::Pod), "args");
    }
}
