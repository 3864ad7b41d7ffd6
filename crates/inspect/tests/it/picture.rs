//! Images and scans, found by the shape of their types.

use crate::golden::{self, types_of};
use bowline_inspect::picture::{BadImage, Format, Image, Rgb, fit, image, scan};
use bowline_wire::Value;
use bowline_wire::schema::{TypeId, TypeSet};

/// A type after those that are well known beside ours: with a stride, and constants for its formats.
const STRIDED: &str = "package other;
struct picture_t {
    const int32_t PIXEL_FORMAT_GRAY = 1497715271;
    const int32_t PIXEL_FORMAT_BE_GRAY16 = 357;
    int64_t utime; int16_t width; int16_t height; int16_t row_stride; int32_t pixelformat;
    int32_t size; byte data[size];
}";

fn code(letters: &[u8; 4]) -> i32 {
    i32::from_le_bytes(*letters)
}

fn value(types: &TypeSet, name: &str, json: &str) -> (TypeId, Value<'static>) {
    let id = types.by_name(name).unwrap();
    (id, types.from_json(id, json.as_bytes()).unwrap())
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for piece in bytes.chunks(3) {
        let bits = piece
            .iter()
            .fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte))
            << (8 * (3 - piece.len()));
        for at in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * at)) as usize & 63];
            out.push(if at <= piece.len() {
                char::from(letter)
            } else {
                '='
            });
        }
    }
    out
}

/// An image of ours, drawn as it is.
fn drawn(width: i32, height: i32, format: i32, data: &[u8]) -> Result<Rgb, BadImage> {
    let types = golden::types();
    let json = format!(
        r#"{{"utime":0,"width":{width},"height":{height},"pixelformat":{format},"size":{},"data":"{}"}}"#,
        data.len(),
        base64(data)
    );
    let (id, value) = value(&types, "bowline.image_t", &json);
    image(&types, id, &value)
        .unwrap()
        .and_then(|image| image.scaled(1000, 1000))
}

/// A format's letters, the bytes of two rows of two pixels, and their colours.
type Pixels = (&'static [u8; 4], &'static [u8], [[u8; 3]; 4]);

#[test]
fn pixels_of_every_format_have_their_colours() {
    let (r, g, b) = ([255, 0, 0], [0, 255, 0], [0, 0, 255]);
    #[rustfmt::skip]
    let cases: [Pixels; 10] = [
        (b"GREY", &[0, 64, 128, 255], [[0; 3], [64; 3], [128; 3], [255; 3]]),
        (b"RGB3", &[255, 0, 0, 0, 255, 0, 0, 0, 255, 1, 2, 3], [r, g, b, [1, 2, 3]]),
        (b"BGR3", &[0, 0, 255, 0, 255, 0, 255, 0, 0, 3, 2, 1], [r, g, b, [1, 2, 3]]),
        (b"RGB4", &[255, 0, 0, 9, 0, 255, 0, 9, 0, 0, 255, 9, 1, 2, 3, 9], [r, g, b, [1, 2, 3]]),
        (b"BGR4", &[0, 0, 255, 9, 0, 255, 0, 9, 255, 0, 0, 9, 3, 2, 1, 9], [r, g, b, [1, 2, 3]]),
        (b"Y16 ", &[0, 0, 0, 1, 0, 2, 0, 4], [[0; 3], [63; 3], [127; 3], [255; 3]]),
        (b"YUYV", &[16, 128, 235, 128, 235, 128, 16, 128], [[0; 3], [255; 3], [255; 3], [0; 3]]),
        (b"UYVY", &[128, 16, 128, 235, 128, 235, 128, 16], [[0; 3], [255; 3], [255; 3], [0; 3]]),
        (b"BA81", &[10, 20, 40, 30], [[30, 30, 10]; 4]),
        (b"RGGB", &[10, 20, 40, 30], [[10, 30, 30]; 4]),
    ];
    for (letters, data, expected) in cases {
        let found = drawn(2, 2, code(letters), data).unwrap();
        assert_eq!(found.pixels, expected, "{}", letters.escape_ascii());
    }
}

#[test]
fn rows_with_padding_and_formats_by_the_types_constants_are_understood() {
    let types = types_of(STRIDED);
    let json = r#"{"utime":0,"width":2,"height":2,"row_stride":3,"pixelformat":1497715271,"size":6,"data":"AQIAAwQA"}"#;
    let (id, padded) = value(&types, "picture_t", json);
    let found = image(&types, id, &padded).unwrap().unwrap();
    assert_eq!((found.format, found.path.as_str()), (Format::Grey8, "data"));
    assert_eq!(
        found.scaled(9, 9).unwrap().pixels,
        [[1; 3], [2; 3], [3; 3], [4; 3]]
    );
    let json = r#"{"utime":0,"width":1,"height":1,"row_stride":0,"pixelformat":357,"size":2,"data":"AQA="}"#;
    let (id, deep) = value(&types, "picture_t", json);
    assert_eq!(
        image(&types, id, &deep).unwrap().unwrap().format,
        Format::Grey16Be
    );
}

#[test]
fn headers_that_lie_are_refused_with_words() {
    let grey = code(b"GREY");
    #[rustfmt::skip]
    let cases = [
        ((3, 2, grey, 4), "expected 6 bytes for 3 x 2 pixels of grey, found 4"),
        ((i32::MAX, i32::MAX, code(b"RGB4"), 4),
         "expected 18446744056529682436 bytes for 2147483647 x 2147483647 pixels of RGBA, found 4"),
        ((0, 2, grey, 4), "expected a width and a height above 0, found 0 x 2"),
        ((-2, -2, grey, 4), "expected a width and a height above 0, found -2 x -2"),
        ((3, 3, code(b"XVID"), 4),
         "expected a pixel format that can be drawn, such as GREY, RGB3 or MJPG, found XVID"),
        ((2, 2, code(b"MJPG"), 4), "expected a whole JPEG file, found a damaged one: it begins with 00 00 00 00"),
    ];
    for ((width, height, format, n_bytes), expected) in cases {
        let error = drawn(width, height, format, &vec![0; n_bytes]).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    let types = types_of(STRIDED);
    let json = r#"{"utime":0,"width":2,"height":2,"row_stride":1,"pixelformat":1497715271,"size":6,"data":"AQIAAwQA"}"#;
    let (id, narrow) = value(&types, "picture_t", json);
    let error = image(&types, id, &narrow).unwrap().unwrap_err();
    assert_eq!(
        error.to_string(),
        "expected rows of at least 2 bytes, found a stride of 1"
    );
}

fn png(width: u32, height: u32, pixels: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder
        .write_header()
        .unwrap()
        .write_image_data(pixels)
        .unwrap();
    file
}

#[test]
fn files_are_known_by_how_they_begin_and_have_their_own_size() {
    let file = png(2, 1, &[255, 0, 0, 0, 0, 255]);
    let found = drawn(640, 480, code(b"MJPG"), &file).unwrap();
    assert_eq!((found.width, found.height), (2, 1));
    assert_eq!(found.pixels, [[255, 0, 0], [0, 0, 255]]);
    // Eight by eight pixels of middle grey, as the smallest of JPEG files.
    let jpeg = golden::unhex(JPEG);
    let found = drawn(8, 8, code(b"MJPG"), &jpeg).unwrap();
    assert_eq!((found.width, found.height), (8, 8));
    assert!(
        found
            .pixels
            .iter()
            .all(|pixel| pixel.iter().all(|part| part.abs_diff(128) < 3))
    );
}

/// All numbers at 0, which is middle grey, with the shortest tables that can encode it.
const JPEG: &str = concat!(
    "ffd8",
    "ffdb00430001010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101",
    "01010101010101010101010101010101010101",
    "ffc0000b080008000801011100",
    "ffc400140001000000000000000000000000000000000000",
    "ffc40014100100000000000000000000000000000000000000",
    "ffda0008010100003f003f",
    "ffd9",
);

#[test]
fn bombs_and_damaged_files_are_refused_cheaply() {
    // The header of a PNG of 60,000 by 60,000 pixels.
    let mut bomb = png(1, 1, &[0, 0, 0]);
    let size = 60_000_u32.to_be_bytes();
    bomb[16..20].copy_from_slice(&size);
    bomb[20..24].copy_from_slice(&size);
    assert!(drawn(1, 1, code(b"PNG "), &bomb).is_err());
    let mut huge = golden::unhex(JPEG);
    let at = huge
        .windows(2)
        .position(|pair| pair == [0xff, 0xc0])
        .unwrap();
    huge[at + 5..at + 9].copy_from_slice(&[0xff; 4]);
    let error = drawn(8, 8, code(b"MJPG"), &huge).unwrap_err();
    assert_eq!(
        error.to_string(),
        "expected at most 16777216 pixels to unpack, found 65535 x 65535"
    );
    let file = png(16, 16, &[7; 16 * 16 * 3]);
    for len in 8..file.len() {
        let _damaged_or_not = drawn(16, 16, code(b"PNG "), &file[..len]);
    }
    for at in 0..file.len() {
        let mut damaged = file.clone();
        damaged[at] ^= 0x55;
        let _damaged_or_not = drawn(16, 16, code(b"PNG "), &damaged);
    }
    let jpeg = golden::unhex(JPEG);
    for at in 3..jpeg.len() {
        let mut damaged = jpeg.clone();
        damaged[at] ^= 0x55;
        let _damaged_or_not = drawn(16, 16, code(b"MJPG"), &damaged);
    }
}

#[test]
fn grids_of_bytes_and_pictures_inside_messages_are_found() {
    let types = types_of(
        "package p;
        struct grid_t { byte cells[20][30]; }
        struct map_t { int32_t rows; int32_t cols; int32_t n; byte occupied[n]; }
        struct stereo_t { int64_t utime; int32_t n; map_t images[n]; }
        struct words_t { int32_t width; int32_t height; string text; }",
    );
    let grid_t = types.by_name("grid_t").unwrap();
    let bytes = [
        &types.fingerprint(grid_t).unwrap().0.to_be_bytes()[..],
        &[9; 600],
    ]
    .concat();
    let grid = types.decode_as(grid_t, &bytes).unwrap();
    let found = image(&types, grid_t, &grid).unwrap().unwrap();
    assert_eq!((found.width, found.height), (30, 20));
    let json = r#"{"utime":1,"n":1,"images":[{"rows":1,"cols":2,"n":2,"occupied":"AP8="}]}"#;
    let (id, stereo) = value(&types, "stereo_t", json);
    let found = image(&types, id, &stereo).unwrap().unwrap();
    assert_eq!(found.path, "images[0].occupied");
    assert_eq!(found.label(), "2x1 grey (by its size)");
    let (id, words) = value(&types, "words_t", r#"{"width":1,"height":1,"text":"a"}"#);
    assert!(image(&types, id, &words).is_none());
}

#[test]
fn smaller_pictures_keep_their_shape_and_the_mean_of_their_pixels() {
    assert_eq!(fit((1280, 720), (80, 48)), (80, 45));
    assert_eq!(fit((720, 1280), (80, 48)), (27, 48));
    assert_eq!(fit((2, 2), (80, 48)), (2, 2));
    assert_eq!(fit((10_000, 1), (80, 48)), (80, 1));
    let data: Vec<u8> = (0..64 * 48)
        .map(|at| if at % 2 == 0 { 0 } else { 200 })
        .collect();
    let types = golden::types();
    let json = format!(
        r#"{{"utime":0,"width":64,"height":48,"pixelformat":{},"size":{},"data":"{}"}}"#,
        code(b"GREY"),
        data.len(),
        base64(&data)
    );
    let (id, value) = value(&types, "bowline.image_t", &json);
    let picture: Image<'_> = image(&types, id, &value).unwrap().unwrap();
    assert_eq!(picture.label(), "64x48 grey");
    let small = picture.scaled(16, 16).unwrap();
    assert_eq!((small.width, small.height), (16, 12));
    assert!(small.pixels.iter().all(|pixel| *pixel == [100; 3]));
}

#[test]
fn no_golden_message_is_taken_for_a_picture_but_those_that_are() {
    let types = golden::types();
    for golden in golden::messages() {
        let (id, value) = types.decode(&golden.bytes).unwrap();
        let is_image = image(&types, id, &value).is_some();
        assert_eq!(
            is_image,
            golden.name == "bowline.image_t",
            "{}",
            golden.name
        );
        let is_scan = scan(&types, id, &value).is_some();
        assert_eq!(is_scan, golden.name == "bowline.laser_t", "{}", golden.name);
    }
}

#[test]
fn a_scan_has_its_hits_ahead_and_to_the_left() {
    let types = golden::types();
    let json = r#"{"utime":0,"nranges":4,"ranges":[2.0,"Infinity",0.0,4.0],"rad0":0.0,"radstep":0.5235987755982988}"#;
    let (id, laser) = value(&types, "bowline.laser_t", json);
    let found = scan(&types, id, &laser).unwrap().unwrap();
    assert_eq!((found.n_ranges, found.points.len()), (4, 2));
    let near = |(ahead, left): (f64, f64), to: (f64, f64)| {
        (ahead - to.0).abs() < 1e-5 && (left - to.1).abs() < 1e-5
    };
    assert!(near(found.points[0], (2.0, 0.0)), "{found:?}");
    assert!(near(found.points[1], (0.0, 4.0)), "{found:?}");
    assert!((found.max_m - 4.0).abs() < 1e-9);
}

#[test]
fn scans_of_other_makers_are_found_too() {
    let types = types_of(
        "package p;
        struct ros_t { float angle_min; float angle_max; float angle_increment; int32_t n; float ranges[n]; float intensities[n]; }
        struct span_t { double start_angle_deg; double end_angle_deg; int32_t n; double distances[n]; // millimetres, mm
        }",
    );
    let json = r#"{"angle_min":-0.5,"angle_max":0.5,"angle_increment":1.0,"n":2,"ranges":[1.0,1.0],"intensities":[5.0,5.0]}"#;
    let (id, ros) = value(&types, "ros_t", json);
    let found = scan(&types, id, &ros).unwrap().unwrap();
    assert!((found.from_rad + 0.5).abs() < 1e-6 && (found.to_rad - 0.5).abs() < 1e-6);
    let json = r#"{"start_angle_deg":-90.0,"end_angle_deg":90.0,"n":3,"distances":[1000.0,2000.0,3000.0]}"#;
    let (id, span) = value(&types, "span_t", json);
    let found = scan(&types, id, &span).unwrap().unwrap();
    assert!((found.max_m - 3.0).abs() < 1e-9, "{found:?}");
    assert!((found.points[1].0 - 2.0).abs() < 1e-9);
    let json = r#"{"angle_min":"NaN","angle_max":0.5,"angle_increment":1.0,"n":0,"ranges":[],"intensities":[]}"#;
    let (id, bad) = value(&types, "ros_t", json);
    let error = scan(&types, id, &bad).unwrap().unwrap_err();
    assert_eq!(
        error.to_string(),
        "expected angles to begin with and to step by, found NaN and 1"
    );
}
