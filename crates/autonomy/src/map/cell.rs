//! One cell of the terrain map: what is believed of the ground there, and the evidence against it.
//!
//! In: heights with their variances, in the order of measurement. Out: a fused height with its variance, and the highest
//! and lowest thing that more than one measurement supports.
//!
//! # How heights are fused
//!
//! Measurements that agree with the height (Mahalanobis distance within [`GATE`]) are weighed by their information, the
//! inverse of their variance: the height is `S / W` with `S += w z` and `W += w`. That is the one-dimensional Kalman filter
//! of a height that does not change, in information form, and the variance-weighted technique that DRDC verified. It
//! takes two additions where the other form waits for a division, and points that follow each other are mostly of one
//! cell.
//!
//! One that disagrees is kept as a *rival*. Alone it changes nothing: a reflection or a raindrop does not spoil a cell.
//! - A second one on the same side makes the nearer of the two the cell's top (or bottom): the foot of a wall and the
//!   ground before it share a cell, and the wall must not be averaged away.
//! - [`TAKEOVER`] that agree with each other, without enough for the old height in between, take over: the ground has
//!   changed, or the first ones were wrong. A top outlives that. What stood there is gone when rays go through it
//!   ([`Cell::refute`]), and not because something lower has been seen in the same cell.

/// Measurements further than this from the height, in standard deviations, disagree with it.
pub const GATE: f32 = 3.0;
/// So many rivals that agree take over.
pub const TAKEOVER: u8 = 3;
/// So many rays that went through the top of a cell refute it.
pub const REFUTATION: u8 = 8;
/// A top is not refuted before it has been unseen for this long, tenths of a second.
const UNSEEN_FOR: u16 = 3;
/// No height is known better than to a millimetre, however often it was measured.
const MAX_WEIGHT: f32 = 1e6;
/// A rival gains this much with each measurement for it, and loses 1 with each for the height.
const GAIN: u8 = 2;

/// What is believed of one cell: half a cache line.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(32))]
pub struct Cell {
    /// Heights, each times its weight, 1/m.
    sum: f32,
    /// 1 / variance, 1/m^2; 0 while nothing is known.
    weight: f32,
    rival_sum: f32,
    rival_weight: f32,
    /// The highest thing that is more than a rival; NaN if there is none apart from the height.
    top: f32,
    bottom: f32,
    /// When it was last seen, and its top: tenths of a second, modulo 2^16.
    seen: u16,
    top_seen: u16,
    n: u16,
    rival: u8,
    refuted: u8,
}

/// One height, as it is fused.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Height {
    /// Metres.
    pub z: f32,
    /// 1 / variance, by which it is weighed, 1/m^2.
    pub weight: f32,
    /// Within which it may differ from the cell's height, metres squared: its variance and how uneven a cell may be.
    pub tolerance: f32,
}

impl Default for Cell {
    fn default() -> Self {
        Self {
            sum: 0.0,
            weight: 0.0,
            rival_sum: 0.0,
            rival_weight: 0.0,
            top: f32::NAN,
            bottom: f32::NAN,
            seen: 0,
            top_seen: 0,
            n: 0,
            rival: 0,
            refuted: 0,
        }
    }
}

impl Cell {
    /// Whether anything is known.
    #[inline]
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.weight > 0.0
    }

    /// The fused height; NaN if nothing is known.
    #[must_use]
    pub fn height(&self) -> f32 {
        // 0 / 0 is NaN.
        self.sum / self.weight
    }

    /// Its variance, metres squared; NaN if nothing is known.
    #[must_use]
    pub fn variance(&self) -> f32 {
        self.or_unknown(self.weight.recip())
    }

    /// The highest thing in the cell: the height, or what stands on it; NaN if nothing is known.
    #[must_use]
    pub fn max(&self) -> f32 {
        self.or_unknown(self.height().max(self.top))
    }

    /// The lowest thing in the cell; NaN if nothing is known.
    #[must_use]
    pub fn min(&self) -> f32 {
        self.or_unknown(self.height().min(self.bottom))
    }

    /// How many measurements there were, up to 65535.
    #[must_use]
    pub fn n(&self) -> u16 {
        self.n
    }

    /// When something was last measured in it, tenths of a second, modulo 2^16.
    #[must_use]
    pub fn seen(&self) -> u16 {
        self.seen
    }

    fn or_unknown(&self, value: f32) -> f32 {
        if self.is_known() { value } else { f32::NAN }
    }

    /// Takes a measurement in, at a time in tenths of a second.
    #[inline]
    pub fn observe(&mut self, measured: Height, time: u16) {
        let Height {
            z,
            weight,
            tolerance,
        } = measured;
        self.seen = time;
        self.n = self.n.saturating_add(1);
        if is_near(z, tolerance, self.sum, self.weight) {
            self.sum += z * weight;
            self.weight += weight;
            self.rival = self.rival.saturating_sub(1);
            if self.weight > MAX_WEIGHT {
                self.halve();
            }
        } else {
            self.observe_rival(measured, time);
        }
    }

    /// Forgets half of what was measured: the height stays as it is to the bit, and open for change.
    #[cold]
    fn halve(&mut self) {
        self.sum *= 0.5;
        self.weight *= 0.5;
    }

    /// Takes a measurement in that disagrees with the height.
    #[cold]
    fn observe_rival(&mut self, measured: Height, time: u16) {
        let Height {
            z,
            weight,
            tolerance,
        } = measured;
        let height = self.height();
        let rival_height = self.rival_sum / self.rival_weight;
        let is_above = z > height;
        let has_company = self.rival > 0 && (rival_height > height) == is_above;
        if has_company && is_above {
            self.top = self.top.max(z.min(rival_height));
        } else if has_company {
            self.bottom = self.bottom.min(z.max(rival_height));
        }
        self.confirm(z, time);
        if has_company && is_near(z, tolerance, self.rival_sum, self.rival_weight) {
            self.rival_sum += z * weight;
            self.rival_weight += weight;
            self.rival += GAIN;
        } else {
            (self.rival_sum, self.rival_weight) = (z * weight, weight);
            self.rival = GAIN;
        }
        if self.rival >= TAKEOVER * GAIN {
            self.take_over(time);
        }
    }

    /// The rival becomes the height, and the height the rival.
    fn take_over(&mut self, time: u16) {
        if self.rival_sum / self.rival_weight > self.height() {
            // A surface that is seen again and again hides what is below.
            self.bottom = f32::NAN;
        } else {
            self.top = self.top.max(self.height());
            self.top_seen = time;
        }
        std::mem::swap(&mut self.sum, &mut self.rival_sum);
        std::mem::swap(&mut self.weight, &mut self.rival_weight);
        self.rival = GAIN;
    }

    /// Something at or above the top was seen: it still stands.
    fn confirm(&mut self, z: f32, time: u16) {
        let is_top = self.top.is_nan() || z >= 0.5 * (self.top + self.height());
        if is_top && z > self.height() {
            self.top_seen = time;
            self.refuted = 0;
        }
    }

    /// A ray went through the cell no higher than `z`: what is above that and has not been seen lately stands there no
    /// longer. Returns whether something was given up.
    #[inline]
    pub fn refute(&mut self, z: f32, time: u16) -> bool {
        if !self.is_known() || self.max() <= z {
            return false;
        }
        self.refute_top(z, time)
    }

    #[cold]
    fn refute_top(&mut self, z: f32, time: u16) -> bool {
        let last_seen = if self.height() > z {
            self.seen
        } else {
            self.top_seen
        };
        if time.wrapping_sub(last_seen) < UNSEEN_FOR {
            self.refuted = 0;
            return false;
        }
        self.refuted = self.refuted.saturating_add(1);
        if self.refuted < REFUTATION {
            return false;
        }
        if self.height() > z {
            *self = Self::default();
        } else {
            self.top = f32::NAN;
            self.refuted = 0;
        }
        true
    }
}

/// Whether a measurement is within the gate of a fused height `sum / weight` whose variance is `1 / weight`.
///
/// That is `(z - sum / weight)^2 <= GATE^2 (tolerance + 1 / weight)`, times `weight^2`: without a division, and true for
/// any measurement while the weight is 0.
#[inline]
fn is_near(z: f32, tolerance: f32, sum: f32, weight: f32) -> bool {
    let off = z * weight - sum;
    off * off <= GATE * GATE * weight * (tolerance * weight + 1.0)
}
