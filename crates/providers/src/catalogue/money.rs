//! US dollars, exact. Prices of a token are millionths of a cent, so that sums of floating-point numbers would
//! drift; counted in femtodollars (10^-15 dollars) every price that a provider states is a whole number.

use std::fmt;
use std::iter::Sum;
use std::ops::Add;
use std::time::Duration;

/// Decimal places of a dollar that are kept.
const PLACES: i32 = 15;
/// One dollar in femtodollars.
const DOLLAR: u128 = 1_000_000_000_000_000;
/// The largest amount that is read: a quadrillion dollars.
const LARGEST: u128 = DOLLAR * DOLLAR;

/// An amount of US dollars of at least zero, exact to 10^-15. Sums stop at the largest value instead of overflowing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Usd(u128);

/// A text or number that is no amount of money.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotMoney {
    /// It is no decimal number.
    #[error("it is not a number of US dollars, such as 0.0000025 or 2.5e-06")]
    NotANumber,
    /// It is below zero.
    #[error("an amount cannot be below zero")]
    Negative,
    /// It is more than a quadrillion dollars.
    #[error("the amount is too large")]
    TooLarge,
}

impl Usd {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// An amount counted in femtodollars (10^-15 US dollars).
    pub const fn from_femtodollars(femtodollars: u128) -> Self {
        Self(femtodollars)
    }

    /// The amount in femtodollars (10^-15 US dollars).
    pub const fn femtodollars(self) -> u128 {
        self.0
    }

    /// The amount in whole microdollars (10^-6 US dollars), rounded down; for counters of 64 bits.
    pub fn microdollars(self) -> u64 {
        u64::try_from(self.0 / 1_000_000_000).unwrap_or(u64::MAX)
    }

    /// Reads dollars as people and JSON write them: `0.15`, `1.5e-07`. What is finer than 10^-15 is rounded to it, so
    /// that the noise of a binary fraction (`5.0000000000000004e-08`) does not become part of a price.
    ///
    /// # Errors
    /// When the text is no such number, below zero or absurdly large.
    pub fn parse(text: &str) -> Result<Self, NotMoney> {
        let text = text.trim();
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => {
                (mantissa, exponent.parse::<i32>().map_err(|_| NotMoney::NotANumber)?)
            }
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        if whole.is_empty() && fraction.is_empty() {
            return Err(NotMoney::NotANumber);
        }
        let mut digits = Digits::default();
        whole.bytes().chain(fraction.bytes()).try_for_each(|byte| digits.push(byte))?;
        let places = i32::try_from(fraction.len()).map_err(|_| NotMoney::TooLarge)?;
        let shift = exponent.saturating_sub(places).saturating_add(digits.dropped).saturating_add(PLACES);
        let femtodollars = scaled(digits.value, shift).ok_or(NotMoney::TooLarge)?;
        match (negative, femtodollars) {
            (_, 0) => Ok(Self::ZERO),
            (true, _) => Err(NotMoney::Negative),
            (false, amount) if amount > LARGEST => Err(NotMoney::TooLarge),
            (false, amount) => Ok(Self(amount)),
        }
    }

    /// The amount that a number of dollars stands for: the shortest decimal that reads as the same number.
    ///
    /// # Errors
    /// When the number is not finite, below zero or absurdly large.
    pub fn from_dollars(dollars: f64) -> Result<Self, NotMoney> {
        if dollars.is_finite() { Self::parse(&format!("{dollars:e}")) } else { Err(NotMoney::NotANumber) }
    }

    /// The amount as the nearest floating-point number of dollars: for display and comparison, never for sums.
    #[expect(clippy::cast_precision_loss, reason = "the nearest number is what is asked for")]
    pub fn dollars(self) -> f64 {
        self.0 as f64 / DOLLAR as f64
    }

    /// This price for `count` units.
    #[must_use]
    pub fn times(self, count: u64) -> Self {
        Self(self.0.saturating_mul(u128::from(count)))
    }

    /// This price of a second for `time`.
    #[must_use]
    pub fn for_time(self, time: Duration) -> Self {
        Self(self.0.saturating_mul(time.as_micros()) / 1_000_000)
    }
}

/// The leading decimal digits of a number. Those beyond its precision are only counted: they move the point.
#[derive(Default)]
struct Digits {
    value: u128,
    dropped: i32,
}

impl Digits {
    fn push(&mut self, byte: u8) -> Result<(), NotMoney> {
        if !byte.is_ascii_digit() {
            return Err(NotMoney::NotANumber);
        }
        if self.value < DOLLAR * 1_000_000_000 {
            self.value = self.value * 10 + u128::from(byte - b'0');
        } else {
            self.dropped = self.dropped.saturating_add(1);
        }
        Ok(())
    }
}

/// `value` times 10^`shift`, rounded to the nearest.
fn scaled(value: u128, shift: i32) -> Option<u128> {
    if value == 0 {
        return Some(0);
    }
    let power = 10_u128.checked_pow(shift.unsigned_abs());
    if shift >= 0 {
        return value.checked_mul(power?);
    }
    // A power beyond 128 bits makes nothing of any value.
    Some(power.map_or(0, |power| (value + power / 2) / power))
}

impl Add for Usd {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sum for Usd {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Usd {
    /// Dollars as a plain decimal without needless zeros: `0.00016`. A precision rounds: `{:.2}`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(places) = f.precision().and_then(|places| u32::try_from(places).ok()).filter(|p| *p < 15)
        {
            let unit = 10_u128.pow(15 - places);
            let rounded = self.0.saturating_add(unit / 2) / unit;
            let one = 10_u128.pow(places);
            return match places {
                0 => write!(f, "{rounded}"),
                places => write!(f, "{}.{:0width$}", rounded / one, rounded % one, width = places as usize),
            };
        }
        let (whole, rest) = (self.0 / DOLLAR, self.0 % DOLLAR);
        if rest == 0 {
            return write!(f, "{whole}");
        }
        let fraction = format!("{rest:015}");
        write!(f, "{whole}.{}", fraction.trim_end_matches('0'))
    }
}

impl serde::Serialize for Usd {
    /// A number of dollars.
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f64(self.dollars())
    }
}
