//! From a path in words to the field itself.

use crate::path::{FieldPath, Step};
use crate::schema::{Member, Type, TypeId, TypeSet};
use crate::value::{Array, Value};
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt;

/// A [`FieldPath`] worked out for one type, to pick the field out of many values.
#[derive(Clone, Debug)]
pub struct Selector {
    places: Vec<Place>,
    ty: Type,
    n_dims: usize,
    owner: Option<(TypeId, usize)>,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    Member(usize),
    Element(usize),
}

impl TypeSet {
    /// Works out a path for a type.
    ///
    /// # Errors
    /// When the type has no such field; the error lists the ones it has.
    pub fn select(&self, root: TypeId, path: &FieldPath) -> Result<Selector, SelectError> {
        let mut selector = Selector {
            places: Vec::new(),
            ty: Type::Named(root),
            n_dims: 0,
            owner: None,
        };
        let mut done = FieldPath::default();
        for step in path.steps() {
            match step {
                Step::Index(index) => {
                    if selector.n_dims == 0 {
                        let found = self.type_name(selector.ty);
                        return Err(SelectError::NotAnArray { path: done, found });
                    }
                    selector.n_dims -= 1;
                    selector.places.push(Place::Element(*index));
                }
                Step::Field(name) => {
                    let (id, place, member) = self.find_member(&selector, name, &done)?;
                    selector.places.push(Place::Member(place));
                    selector.ty = member.ty;
                    selector.n_dims = member.dims.len();
                    selector.owner = Some((id, place));
                }
            }
            done.push(step.clone());
        }
        Ok(selector)
    }

    fn find_member(
        &self,
        selector: &Selector,
        name: &str,
        done: &FieldPath,
    ) -> Result<(TypeId, usize, &Member), SelectError> {
        if selector.n_dims > 0 {
            return Err(SelectError::NoIndex { path: done.clone() });
        }
        let body = match selector.ty {
            Type::Named(id) => self.as_struct(id).map(|body| (id, body)),
            Type::Primitive(_) => None,
        };
        let Some((id, body)) = body else {
            let found = self.type_name(selector.ty);
            return Err(SelectError::NotAStruct {
                path: done.clone(),
                found,
            });
        };
        let members = || body.members.iter();
        let found = members()
            .enumerate()
            .find(|(_, member)| member.name == name);
        found
            .map(|(place, member)| (id, place, member))
            .ok_or_else(|| SelectError::NoSuchField {
                path: done.clone(),
                name: name.to_string(),
                fields: members().map(|member| member.name.clone()).collect(),
            })
    }
}

impl Selector {
    /// The field's value; `None` when an array is too short to have it.
    #[must_use]
    pub fn pick<'v>(&self, value: &'v Value<'v>) -> Option<Value<'v>> {
        pick(value, &self.places)
    }

    /// The type of the field, or of its elements.
    #[must_use]
    pub fn ty(&self) -> Type {
        self.ty
    }

    /// How many dimensions the field still has: 0 for a scalar.
    #[must_use]
    pub fn n_dims(&self) -> usize {
        self.n_dims
    }

    /// The member that the path ends in, with its comment. `None` for the message itself.
    #[must_use]
    pub fn member<'t>(&self, types: &'t TypeSet) -> Option<&'t Member> {
        let (id, place) = self.owner?;
        types.as_struct(id)?.members.get(place)
    }
}

fn pick<'v>(value: &'v Value<'v>, places: &[Place]) -> Option<Value<'v>> {
    let Some((place, rest)) = places.split_first() else {
        return Some(value.clone());
    };
    match (*place, value) {
        (Place::Member(place), Value::Struct(members)) => pick(members.get(place)?, rest),
        (Place::Element(index), Value::Array(array)) => pick_element(array, index, rest),
        (Place::Member(_) | Place::Element(_), _) => None,
    }
}

fn pick_element<'v>(array: &'v Array<'v>, index: usize, places: &[Place]) -> Option<Value<'v>> {
    // A field of a struct in a line is reached in place; only rows and single elements are made anew.
    if let (Some((Place::Member(place), rest)), Some(members)) =
        (places.split_first(), array.struct_members(index))
    {
        return pick(members.get(*place)?, rest);
    }
    let element = array.get(index)?;
    if places.is_empty() {
        return Some(element);
    }
    pick(&element, places).map(Value::into_owned)
}

/// A path that does not lead to a field of the type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SelectError {
    /// The struct has no such field.
    NoSuchField {
        /// The path to the struct.
        path: FieldPath,
        /// The name that is not there.
        name: String,
        /// The names that are.
        fields: Vec<String>,
    },
    /// A name after something that has no fields.
    NotAStruct {
        /// The path to it.
        path: FieldPath,
        /// Its type.
        found: String,
    },
    /// An index after something that is not an array.
    NotAnArray {
        /// The path to it.
        path: FieldPath,
        /// Its type.
        found: String,
    },
    /// A name after an array, where an index should be.
    NoIndex {
        /// The path to the array.
        path: FieldPath,
    },
}

impl fmt::Display for SelectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchField { path, name, fields } => {
                let whose = if path.steps().is_empty() {
                    "the message".to_string()
                } else {
                    path.to_string()
                };
                write!(
                    f,
                    "expected a field of {whose}, found {name:?}; it has {}",
                    fields.join(", ")
                )
            }
            Self::NotAStruct { path, found } => {
                write!(f, "expected a struct at {path}, found {found}")
            }
            Self::NotAnArray { path, found } => {
                write!(f, "expected an array at {path}, found {found}")
            }
            Self::NoIndex { path } => {
                write!(f, "expected an index such as {path}[0], found a name")
            }
        }
    }
}

impl core::error::Error for SelectError {}
