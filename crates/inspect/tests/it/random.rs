//! Random values of random types: whatever they hold, they are shown, and nothing that a terminal obeys.

use bowline_inspect::picture::{image, scan};
use bowline_inspect::text::is_unprintable;
use bowline_inspect::tree::{Fold, Folds, Tree};
use bowline_testing::random::cases;
use bowline_wire::schema::{
    Dim, Enum, EnumValue, Member, Primitive, Struct, Type, TypeDef, TypeId, TypeKind, TypeSet,
};
use bowline_wire::{Array, Items, Value};
use proptest::prelude::{Just, Strategy, any, prop, prop_oneof, proptest};
use proptest::test_runner::{Config, RngAlgorithm};

/// A source of numbers that a failing case can be shrunk by.
struct Draw {
    bytes: Vec<u8>,
    at: usize,
}

impl Draw {
    fn byte(&mut self) -> u8 {
        self.at += 1;
        let n = self.bytes.len().max(1);
        let byte = self.bytes.get((self.at - 1) % n).copied().unwrap_or(0);
        // Where the bytes begin again, they do not decode to the same again.
        byte.wrapping_add(u8::try_from((self.at / n) % 251).unwrap_or(0))
    }

    fn below(&mut self, n: usize) -> usize {
        usize::from(self.byte()) % n
    }

    fn bytes(&mut self, n: usize) -> Vec<u8> {
        (0..n).map(|_| self.byte()).collect()
    }
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("width".to_string()),
        Just("height".to_string()),
        Just("pixelformat".to_string()),
        Just("ranges".to_string()),
        Just("rad0".to_string()),
        Just("radstep".to_string()),
        Just("utime".to_string()),
        "[a-z]{1,6}",
        any::<String>(),
    ]
}

/// A struct of scalars, arrays and grids of everything, and of structs of the same kind.
fn definition(names: &[String], shapes: &mut Draw) -> Vec<TypeDef> {
    let def = |name: &str, kind| TypeDef {
        package: String::new(),
        name: name.into(),
        doc: String::new(),
        kind,
    };
    let member = |(at, name): (usize, &String), shapes: &mut Draw, n_types: usize| Member {
        name: format!("{name}{at}"),
        doc: format!("{name}, metres"),
        ty: match shapes.below(12) {
            place @ 0..9 => Type::Primitive(Primitive::ALL[place]),
            _ => Type::Named(TypeId(u32::try_from(shapes.below(n_types)).unwrap())),
        },
        dims: (0..shapes.below(4))
            .map(|_| {
                let size = 1 + shapes.below(20);
                Dim::Fixed {
                    size,
                    text: size.to_string(),
                }
            })
            .collect(),
    };
    let value = |(at, name): (i32, &String)| EnumValue {
        name: format!("{name}{at}"),
        doc: String::new(),
        value: at,
    };
    let values = (0..).zip(names).map(value).collect();
    let mut defs = vec![def("e", TypeKind::Enum(Enum { values }))];
    for n_types in 1..4 {
        let members = names.iter().take(4).enumerate();
        let members = members.map(|it| member(it, shapes, n_types)).collect();
        let constants = vec![];
        defs.push(def(
            &format!("s{n_types}"),
            TypeKind::Struct(Struct { members, constants }),
        ));
    }
    defs
}

fn scalar(types: &TypeSet, ty: Type, draw: &mut Draw) -> Value<'static> {
    match ty {
        Type::Primitive(Primitive::String) => {
            let n = draw.below(40);
            Value::Text(draw.bytes(n).into())
        }
        Type::Primitive(ty) => {
            let bytes = draw.bytes(ty.fixed_size().unwrap()).into();
            Items::Numbers { ty, bytes }.get(0).unwrap().into_owned()
        }
        Type::Named(id) => match types.as_struct(id) {
            Some(body) => Value::Struct(members(types, body, draw).into()),
            None => Value::Enum(i32::from(draw.byte()) - 8),
        },
    }
}

fn members(types: &TypeSet, body: &Struct, draw: &mut Draw) -> Vec<Value<'static>> {
    let value = |member: &Member| {
        if member.dims.is_empty() {
            return scalar(types, member.ty, draw);
        }
        let size = |dim: &Dim| match dim {
            Dim::Fixed { size, .. } => *size,
            Dim::Variable { .. } => 0,
        };
        let mut dims: Vec<usize> = member.dims.iter().map(size).collect();
        // Not so many that a test takes long.
        let is_struct = matches!(member.ty, Type::Named(id) if types.as_struct(id).is_some());
        if is_struct {
            dims.iter_mut().for_each(|dim| *dim = (*dim).min(2));
        }
        let n = dims.iter().product();
        let items = match member.ty {
            Type::Primitive(ty) if ty.fixed_size().is_some() => Items::Numbers {
                ty,
                bytes: draw.bytes(n * ty.fixed_size().unwrap()).into(),
            },
            Type::Named(id) if is_struct => {
                let body = types.as_struct(id).unwrap();
                let all = (0..n).flat_map(|_| members(types, body, draw)).collect();
                Items::Structs { n, members: all }
            }
            ty @ (Type::Primitive(_) | Type::Named(_)) => {
                Items::Values((0..n).map(|_| scalar(types, ty, draw)).collect())
            }
        };
        Value::Array(Array::new(&dims, items).unwrap())
    };
    body.members.iter().map(value).collect()
}

fn check_shown(types: &TypeSet, id: TypeId, value: &Value<'_>) {
    let mut folds = Folds::default();
    for _ in 0..8 {
        let tree = Tree::new(types, id, value, &folds);
        let rows = tree.rows(0..200);
        assert_eq!(rows.len(), tree.n_rows().min(200));
        let mut opened = folds.clone();
        for row in &rows {
            let texts = [
                &row.key, &row.path, &row.name, &row.ty, &row.value, &row.unit, &row.doc,
            ];
            for text in texts {
                assert!(!text.chars().any(is_unprintable), "{text:?}");
            }
            if row.fold == Fold::Closed {
                opened.open(row);
            }
        }
        folds = opened;
    }
    if let Some(Ok(image)) = image(types, id, value) {
        let small = image.scaled(20, 20);
        assert!(small.is_err() || small.is_ok_and(|it| it.pixels.len() <= 400));
    }
    if let Some(Ok(scan)) = scan(types, id, value) {
        assert!(
            scan.points
                .iter()
                .all(|(x, y)| x.is_finite() && y.is_finite())
        );
    }
}

proptest! {
    #![proptest_config(Config {
        cases: cases(100),
        rng_algorithm: RngAlgorithm::ChaCha,
        failure_persistence: None,
        ..Config::default()
    })]

    #[test]
    fn random_values_of_random_types_are_shown_and_harmless(
        names in prop::collection::vec(name(), 1..5),
        shapes in prop::collection::vec(any::<u8>(), 64),
        values in prop::collection::vec(any::<u8>(), 256),
    ) {
        let mut shapes = Draw { bytes: shapes, at: 0 };
        if let Ok(types) = TypeSet::new(definition(&names, &mut shapes)) {
            let mut values = Draw { bytes: values, at: 0 };
            for (id, _) in types.iter() {
                let value = scalar(&types, Type::Named(id), &mut values);
                check_shown(&types, id, &value);
            }
        }
    }
}
