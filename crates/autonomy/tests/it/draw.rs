//! Pictures of maps that are made up.

use crate::support::heights;
use bowline_autonomy::map::draw::{Layer, Palette, Picture, UNKNOWN};

const HEIGHTS: Palette = Palette::Height {
    grade_m: 0.0,
    span_m: 1.0,
};

#[test]
fn heights_are_green_at_grade_red_below_and_blue_above() {
    let colour = |height: f32| HEIGHTS.colour(HEIGHTS.index(height));
    let largest = |rgb: [u8; 3]| (0..3).max_by_key(|at| rgb[*at]).expect("three");
    assert_eq!(
        [colour(0.0), colour(-0.6), colour(0.6)].map(largest),
        [1, 0, 2]
    );
    assert_eq!(colour(-50.0), colour(-1.0), "no redder than red");
    assert_eq!(colour(f32::NAN), UNKNOWN);
    assert_eq!(colour(f32::INFINITY), colour(1.0));
}

#[test]
fn what_can_be_driven_is_green_and_what_cannot_is_red() {
    let colour = |ratio: f32| Palette::Ratio.colour(Palette::Ratio.index(ratio));
    assert!(colour(1.0)[1] > colour(1.0)[0]);
    assert!(colour(0.0)[0] > colour(0.0)[1]);
    assert_eq!(colour(f32::NAN), UNKNOWN);
}

#[test]
fn a_span_is_light_at_its_low_end_and_dark_at_its_high_one() {
    let depths = Palette::Span {
        low: 2.0,
        high: 10.0,
    };
    let light = |depth: f32| {
        let colour = depths.colour(depths.index(depth));
        colour.iter().map(|it| u32::from(*it)).sum::<u32>()
    };
    let depths_m = [2.0, 4.0, 6.0, 8.0, 10.0];
    assert!(depths_m.windows(2).all(|two| light(two[0]) > light(two[1])));
    assert_eq!(light(-1.0), light(2.0), "no lighter than that");
    assert_eq!(depths.colour(depths.index(f32::NAN)), UNKNOWN);
    // All alike is a picture too.
    let flat = Palette::Span {
        low: 3.0,
        high: 3.0,
    };
    assert_ne!(flat.index(3.0), 0);
}

#[test]
fn a_ring_shows_what_is_in_it() {
    let map = heights(20, 1.0, |_, _| 0.0);
    let layer = Layer::new(&map, "height", HEIGHTS).expect("it is a map");
    let mut picture = Picture::new(&layer, 4);
    let before = picture.at(40, 40);
    picture.ring([10.0, 10.0], [1, 2, 3], 12.0);
    assert_eq!(picture.at(40, 40), before);
    assert_eq!(picture.at(46, 40), Some([1, 2, 3]));
}

#[test]
fn pictures_have_north_at_the_top() {
    let map = heights(
        4,
        1.0,
        |x, y| if x > 3.0 && y > 3.0 { 1.0 } else { f64::NAN },
    );
    let layer = Layer::new(&map, "height", HEIGHTS).expect("it is a map");
    let mut picture = Picture::new(&layer, 2);
    assert_eq!(picture.size(), (8, 8));
    assert_eq!(picture.at(7, 0), Some(HEIGHTS.colour(255)));
    assert_eq!(picture.at(0, 0), Some(UNKNOWN));
    picture.dot([0.5, 0.5], [1, 2, 3], 2.0);
    assert_eq!(picture.at(0, 7), Some([1, 2, 3]));
    // Far away, nowhere: nothing happens.
    picture.path(&[[-1e9, 0.0], [1e9, 0.0]], [9; 3], 1.0);
    picture.dot([f64::NAN, f64::INFINITY], [9; 3], 5.0);
    picture.vehicle([2.0, 2.0], 0.3);
    picture.arc([2.0, 2.0, 0.0], 0.5, 2.0, ([255; 3], 1.0));
}

#[test]
fn picture_read_back_as_png_has_the_colours_of_its_cells() {
    let map = heights(5, 1.0, |x, y| x - y);
    let layer = Layer::new(&map, "height", HEIGHTS).expect("it is a map");
    let read = |picture: &Picture| {
        let bytes = picture.to_png().expect("it has cells");
        let mut reader = png::Decoder::new(std::io::Cursor::new(&bytes))
            .read_info()
            .expect("a PNG");
        let mut pixels = vec![0; reader.output_buffer_size().expect("small")];
        let info = reader.next_frame(&mut pixels).expect("a picture");
        ((info.width, info.height), pixels)
    };
    let colours: Vec<u8> = layer
        .cells
        .iter()
        .flat_map(|cell| HEIGHTS.colour(*cell))
        .collect();
    assert_eq!(read(&Picture::new(&layer, 1)), ((5, 5), colours));
    assert_eq!(read(&Picture::new(&layer, 3)).0, (15, 15));
    let empty = Layer {
        columns: 0,
        rows: 0,
        cells: Vec::new(),
        ..layer
    };
    assert!(Picture::new(&empty, 1).to_png().is_err());
}
