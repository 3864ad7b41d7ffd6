//! Meshes from files: Wavefront's OBJ, and STL in text and in bytes.

use crate::solid::{MakeMeshError, Mesh};

/// Why a file is no mesh.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum BadMesh {
    #[error("expected an .obj or .stl file, found {0:?}")]
    Format(String),
    #[error("expected {expected} in line {line}, found {found:?}")]
    Line {
        line: usize,
        expected: &'static str,
        found: String,
    },
    #[error("expected {expected} bytes of triangles, found {found}")]
    Cut { expected: usize, found: usize },
    #[error("expected at most {MAX_TRIANGLES} triangles, found more")]
    TooMany,
    #[error(transparent)]
    Made(#[from] MakeMeshError),
}

const MAX_TRIANGLES: usize = 1_000_000;

/// Points and triangles of a file, each coordinate times its scale.
pub(super) fn read(name: &str, bytes: &[u8], scale: [f64; 3]) -> Result<Mesh, BadMesh> {
    let lower = name.to_lowercase();
    let (mut points, triangles) = if lower.ends_with(".obj") {
        obj(&String::from_utf8_lossy(bytes))?
    } else if lower.ends_with(".stl") {
        stl(bytes)?
    } else {
        return Err(BadMesh::Format(name.to_owned()));
    };
    for point in &mut points {
        *point = [0, 1, 2].map(|axis| point[axis] * scale[axis]);
    }
    Ok(Mesh::new(points, triangles)?)
}

type Triangles = (Vec<[f64; 3]>, Vec<[u32; 3]>);

fn obj(text: &str) -> Result<Triangles, BadMesh> {
    let (mut points, mut triangles) = (Vec::new(), Vec::new());
    for (idx, line) in text.lines().enumerate() {
        let bad = |expected| BadMesh::Line {
            line: idx + 1,
            expected,
            found: line.chars().take(40).collect(),
        };
        let mut words = line.split_ascii_whitespace();
        match words.next() {
            Some("v") => points.push(three(&mut words).ok_or_else(|| bad("v and 3 numbers"))?),
            Some("f") => {
                let corners: Option<Vec<u32>> =
                    words.map(|word| corner(word, points.len())).collect();
                let corners = corners.filter(|corners| corners.len() >= 3);
                let corners =
                    corners.ok_or_else(|| bad("f and 3 or more points that are there"))?;
                let Some((first, rest)) = corners.split_first() else {
                    continue;
                };
                triangles.extend(rest.array_windows().map(|[b, c]| [*first, *b, *c]));
            }
            Some(_) | None => {}
        }
        if triangles.len() > MAX_TRIANGLES || points.len() > 3 * MAX_TRIANGLES {
            return Err(BadMesh::TooMany);
        }
    }
    Ok((points, triangles))
}

fn three<'w>(words: &mut impl Iterator<Item = &'w str>) -> Option<[f64; 3]> {
    let mut number = || {
        words
            .next()?
            .parse::<f64>()
            .ok()
            .filter(|it| it.is_finite())
    };
    Some([number()?, number()?, number()?])
}

/// `7`, `7/1`, `7/1/3` or `-1`, which is the last.
fn corner(word: &str, n_points: usize) -> Option<u32> {
    let number: i64 = word.split('/').next()?.parse().ok()?;
    let n_points = i64::try_from(n_points).ok()?;
    let at = if number < 0 {
        n_points + number
    } else {
        number - 1
    };
    (0..n_points)
        .contains(&at)
        .then(|| u32::try_from(at).ok())
        .flatten()
}

/// Bytes before the triangles of an STL file, and of each.
const STL_HEADER: usize = 84;
const STL_TRIANGLE: usize = 50;

fn stl(bytes: &[u8]) -> Result<Triangles, BadMesh> {
    let is_text = bytes.starts_with(b"solid") && bytes.windows(5).any(|it| it == b"facet");
    if is_text {
        return stl_text(&String::from_utf8_lossy(bytes));
    }
    let count = bytes
        .get(80..STL_HEADER)
        .and_then(|it| it.try_into().ok())
        .map(u32::from_le_bytes);
    let n_triangles = usize::try_from(count.unwrap_or(0)).unwrap_or(usize::MAX);
    if n_triangles > MAX_TRIANGLES {
        return Err(BadMesh::TooMany);
    }
    let expected = STL_HEADER + n_triangles * STL_TRIANGLE;
    if bytes.len() < expected {
        return Err(BadMesh::Cut {
            expected,
            found: bytes.len(),
        });
    }
    let mut points = Vec::new();
    for triangle in bytes
        .get(STL_HEADER..expected)
        .unwrap_or_default()
        .chunks_exact(STL_TRIANGLE)
    {
        let numbers = triangle.get(12..48).unwrap_or_default().as_chunks::<4>().0;
        let numbers: Vec<f64> = numbers
            .iter()
            .map(|it| f32::from_le_bytes(*it).into())
            .collect();
        points.extend(numbers.as_chunks::<3>().0);
    }
    Ok(in_threes(points))
}

fn stl_text(text: &str) -> Result<Triangles, BadMesh> {
    let mut points = Vec::new();
    for (idx, line) in text.lines().enumerate() {
        let Some(rest) = line.trim_start().strip_prefix("vertex") else {
            continue;
        };
        let point = three(&mut rest.split_ascii_whitespace()).ok_or_else(|| BadMesh::Line {
            line: idx + 1,
            expected: "vertex and 3 numbers",
            found: line.chars().take(40).collect(),
        })?;
        points.push(point);
        if points.len() > 3 * MAX_TRIANGLES {
            return Err(BadMesh::TooMany);
        }
    }
    Ok(in_threes(points))
}

/// Every three points are a triangle.
fn in_threes(points: Vec<[f64; 3]>) -> Triangles {
    let n_triangles = u32::try_from(points.len() / 3).unwrap_or(0);
    let triangles = (0..n_triangles).map(|nth| [3 * nth, 3 * nth + 1, 3 * nth + 2]);
    (points, triangles.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meshes_of_all_formats_are_the_same_triangle() {
        let obj = b"# one\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1/1 2/2 -1\n".to_vec();
        let text = b"solid t\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\n".to_vec();
        let mut bytes = vec![0; 80];
        bytes.extend(1_u32.to_le_bytes());
        for number in [
            0.0_f32, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0,
        ] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend([0, 0]);
        for (name, file) in [("a.obj", obj), ("a.stl", text), ("B.STL", bytes)] {
            let mesh = read(name, &file, [2.0, 3.0, 1.0])
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            let points: Vec<[f64; 3]> = mesh.points().collect();
            assert_eq!(
                points,
                [[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 3.0, 0.0]],
                "{name}"
            );
            assert_eq!(mesh.triangles().len(), 1, "{name}");
        }
    }

    #[test]
    fn what_is_no_mesh_is_refused_with_its_reason() {
        let cases: [(&str, &[u8], &str); 6] = [
            ("a.dae", b"", "expected an .obj or .stl file"),
            ("a.obj", b"v 0 0 zero", "line 1"),
            ("a.obj", b"v 0 0 0\nf 1 2 3", "line 2"),
            ("a.obj", b"", "at least one triangle"),
            ("a.stl", b"short", "84 bytes of triangles"),
            ("a.stl", &[1; 84], "at most"),
        ];
        for (name, bytes, expected) in cases {
            let error = read(name, bytes, [1.0; 3]).expect_err(name).to_string();
            assert!(error.contains(expected), "{name}: {error}");
        }
    }
}
