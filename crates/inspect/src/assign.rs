//! Messages from words of a command line: `id=dock position[0]=12.5 frame.name=map`.
//!
//! What is not assigned is zero, empty or false. `TypeSet::from_json` has the last word on what is right.

use bowline_wire::schema::{Dim, Member, Primitive, Struct, Type, TypeId, TypeKind, TypeSet};
use serde_json::{Map, Value, json};

/// Types in types that are filled with zeros; deeper ones are left out.
const MAX_DEPTH: usize = 16;
/// Elements of fixed arrays that are filled with zeros, in all.
const MAX_ELEMENTS: usize = 1 << 16;

/// A message of zeros, empty strings and empty arrays, as JSON. Fields that only give the length of an array are left out.
#[must_use]
pub fn blank(types: &TypeSet, id: TypeId) -> Value {
    let mut n_left = MAX_ELEMENTS;
    blank_scalar(types, Type::Named(id), 0, &mut n_left)
}

fn blank_scalar(types: &TypeSet, ty: Type, depth: usize, n_left: &mut usize) -> Value {
    match ty {
        Type::Primitive(Primitive::Boolean) => json!(false),
        Type::Primitive(Primitive::String) => json!(""),
        Type::Primitive(_) => json!(0),
        Type::Named(_) if depth > MAX_DEPTH => Value::Null,
        Type::Named(id) => match &types.def(id).kind {
            TypeKind::Struct(body) => {
                let members = body.members.iter().enumerate();
                let members = members.filter(|(place, _)| !is_length(body, *place));
                let members = members.map(|(_, member)| {
                    let value = blank_array(types, member, &member.dims, depth, n_left);
                    (member.name.clone(), value)
                });
                Value::Object(members.collect())
            }
            TypeKind::Enum(body) => json!(body.values.first().map_or(0, |first| first.value)),
            TypeKind::External => Value::Null,
        },
    }
}

fn blank_array(
    types: &TypeSet,
    member: &Member,
    dims: &[Dim],
    depth: usize,
    n_left: &mut usize,
) -> Value {
    let Some((dim, inner)) = dims.split_first() else {
        return blank_scalar(types, member.ty, depth + 1, n_left);
    };
    let n = match dim {
        Dim::Fixed { size, .. } => *size,
        Dim::Variable { .. } => 0,
    };
    let mut items = Vec::new();
    for _ in 0..n {
        if *n_left == 0 {
            break;
        }
        *n_left -= 1;
        items.push(blank_array(types, member, inner, depth, n_left));
    }
    Value::Array(items)
}

/// Whether a member only gives the length of others.
fn is_length(body: &Struct, place: usize) -> bool {
    let mut dims = body.members.iter().flat_map(|member| &member.dims);
    dims.any(|dim| matches!(dim, Dim::Variable { member } if *member == place))
}

/// Does one assignment, `path=value`, to a message as JSON. A value is JSON, or text where the field is a string or the
/// name of an enum's value. One more element than there is may be assigned to an array that can grow.
///
/// # Errors
/// When there is no such field, in words.
pub fn assign(
    types: &TypeSet,
    id: TypeId,
    message: &mut Value,
    assignment: &str,
) -> Result<(), AssignError> {
    let Some((path, text)) = assignment.split_once('=') else {
        return Err(AssignError::NoValue {
            assignment: assignment.to_owned(),
        });
    };
    let mut at = Place {
        types,
        ty: Type::Named(id),
        dims: &[],
        value: message,
    };
    for step in steps(path)? {
        at = at.enter(step).map_err(|why| AssignError::NoField {
            path: path.to_owned(),
            why,
        })?;
    }
    *at.value = at.parse(text);
    Ok(())
}

/// Why an assignment was not done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AssignError {
    /// There is no equals sign.
    #[error("expected field=value, such as id=dock or position[0]=12.5, found {assignment:?}")]
    NoValue {
        /// What was given.
        assignment: String,
    },
    /// The path leads nowhere.
    #[error("there is no field {path:?}: {why}")]
    NoField {
        /// What was given.
        path: String,
        /// What is there instead.
        why: String,
    },
}

enum Step<'p> {
    Name(&'p str),
    Index(usize),
}

fn steps(path: &str) -> Result<Vec<Step<'_>>, AssignError> {
    let bad = |why: &str| AssignError::NoField {
        path: path.to_owned(),
        why: why.to_owned(),
    };
    let mut steps = Vec::new();
    for word in path.split('.') {
        let (name, mut rest) = word.split_at(word.find('[').unwrap_or(word.len()));
        if name.is_empty() {
            return Err(bad("expected names with dots between them"));
        }
        steps.push(Step::Name(name));
        while let Some(inner) = rest.strip_prefix('[') {
            let (index, after) = inner
                .split_once(']')
                .ok_or_else(|| bad("expected ] after ["))?;
            let index = index.parse();
            let index = index.map_err(|_not_a_number| bad("expected a number between [ and ]"))?;
            steps.push(Step::Index(index));
            rest = after;
        }
        if !rest.is_empty() {
            return Err(bad("expected . or [ after ]"));
        }
    }
    Ok(steps)
}

/// Somewhere in a message.
struct Place<'t, 'v> {
    types: &'t TypeSet,
    ty: Type,
    dims: &'t [Dim],
    value: &'v mut Value,
}

impl<'t, 'v> Place<'t, 'v> {
    fn enter(self, step: Step<'_>) -> Result<Self, String> {
        match step {
            Step::Name(name) => self.enter_field(name),
            Step::Index(index) => self.enter_element(index),
        }
    }

    fn enter_field(self, name: &str) -> Result<Self, String> {
        let body = match self.ty {
            Type::Named(id) if self.dims.is_empty() => self.types.as_struct(id),
            Type::Named(_) | Type::Primitive(_) => None,
        };
        let Some(body) = body else {
            return Err(format!("{name:?} would be in something that has no fields"));
        };
        let Some(member) = body.members.iter().find(|member| member.name == name) else {
            let names: Vec<&str> = body.members.iter().map(|it| it.name.as_str()).collect();
            return Err(format!("there are {}", names.join(", ")));
        };
        let object = as_object(self.value);
        Ok(Self {
            types: self.types,
            ty: member.ty,
            dims: &member.dims,
            value: object.entry(name).or_insert(Value::Null),
        })
    }

    fn enter_element(self, index: usize) -> Result<Self, String> {
        let Some((dim, inner)) = self.dims.split_first() else {
            return Err(format!("[{index}] would be in something that is no array"));
        };
        let items = as_array(self.value);
        let n_items = items.len();
        if index == n_items && matches!(dim, Dim::Variable { .. }) {
            let is_scalar = inner.is_empty();
            let fresh = if is_scalar {
                blank_scalar(self.types, self.ty, 0, &mut MAX_ELEMENTS.clone())
            } else {
                json!([])
            };
            items.push(fresh);
        }
        let value = items.get_mut(index);
        let value = value.ok_or_else(|| format!("the array has {n_items} elements"))?;
        Ok(Self {
            types: self.types,
            ty: self.ty,
            dims: inner,
            value,
        })
    }

    fn parse(&self, text: &str) -> Value {
        let is_text = self.dims.is_empty() && self.ty == Type::Primitive(Primitive::String);
        let is_quoted = text.starts_with('"') || text.starts_with('{');
        if is_text && !is_quoted {
            return json!(text);
        }
        // What is no JSON is a name, of an enum's value or of no number at all; the type decides.
        serde_json::from_str(text).unwrap_or_else(|_not_json| json!(text))
    }
}

fn as_object(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = json!({});
    }
    value.as_object_mut().expect("it was just made one")
}

fn as_array(value: &mut Value) -> &mut Vec<Value> {
    if !value.is_array() {
        *value = json!([]);
    }
    value.as_array_mut().expect("it was just made one")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn types() -> TypeSet {
        TypeSet::from_bytes(bowline_msgs::SCHEMA).unwrap()
    }

    /// A message of assignments, as it is read again from its bytes.
    fn message(name: &str, assignments: &[&str]) -> Result<Value, String> {
        let types = types();
        let id = types.by_name(name).unwrap();
        let mut json = blank(&types, id);
        for assignment in assignments {
            assign(&types, id, &mut json, assignment).map_err(|error| error.to_string())?;
        }
        let value = types.from_json(id, json.to_string().as_bytes());
        let value = value.map_err(|error| error.to_string())?;
        let bytes = types
            .encode(id, &value)
            .map_err(|error| error.to_string())?;
        let (_, value) = types.decode(&bytes).map_err(|error| error.to_string())?;
        Ok(serde_json::from_str(&types.to_json(id, &value)).unwrap())
    }

    #[test]
    fn a_blank_of_every_type_is_a_message() {
        for (_, def) in types().iter() {
            message(&def.full_name(), &[]).unwrap();
        }
    }

    #[test]
    fn fields_are_assigned_by_path_and_the_rest_is_zero() {
        let waypoint = message("bowline.waypoint_t", &["id=dock 7", "position[1]=-3.5"]);
        assert_eq!(
            waypoint.unwrap(),
            json!({"id": "dock 7", "position": [0.0, -3.5]})
        );
        let path = message(
            "bowline.path_t",
            &[
                "waypoints[0].id=a",
                "waypoints[1].position=[1, 2]",
                "timestamp=12",
            ],
        );
        let path = path.unwrap();
        assert_eq!(path["num_waypoints"], json!(2));
        assert_eq!(path["waypoints"][0]["id"], json!("a"));
        assert_eq!(path["waypoints"][1]["position"], json!([1.0, 2.0]));
        let laser = message("bowline.laser_t", &["rad0=NaN", "ranges=[1,2,3]"]).unwrap();
        assert_eq!(
            (&laser["rad0"], &laser["nranges"]),
            (&json!("NaN"), &json!(3))
        );
    }

    #[test]
    fn unknown_path_lists_the_fields() {
        let cases = [
            ("id", "expected field=value"),
            ("idd=1", "there are id, position"),
            ("id.x=1", "has no fields"),
            ("id[0]=1", "no array"),
            ("position[2]=1", "2 elements"),
            ("position[x]=1", "expected a number"),
            ("position[0=1", "expected ]"),
            ("position[0]x=1", "expected . or ["),
            (".id=1", "expected names"),
            ("=1", "expected names"),
        ];
        for (assignment, expected) in cases {
            let error = message("bowline.waypoint_t", &[assignment]).unwrap_err();
            assert!(error.contains(expected), "{assignment:?}: {error}");
        }
    }
}
