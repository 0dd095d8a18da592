//! What PyYAML 6 makes of a plain scalar (its `resolver.py` and `SafeConstructor`), without regular expressions.
//!
//! Checked against the real library by `tests/fixtures/pyyaml.tsv`.

/// The type and value of a scalar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Int(i128),
    Float(f64),
    /// A date or time for PyYAML; its text is kept.
    Date,
    Str,
}

impl Value {
    pub(crate) const fn describe(self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Bool(_) => "a boolean",
            Self::Int(_) => "a whole number",
            Self::Float(_) => "a number",
            Self::Date => "a date",
            Self::Str => "a string",
        }
    }
}

/// Reads a plain, untagged scalar.
pub(crate) fn resolve(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => return Value::Bool(true),
        "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Value::Bool(false);
        }
        _ => {}
    }
    if !text.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '-' | '+' | '.')) {
        return Value::Str;
    }
    float(text)
        .map(Value::Float)
        .or_else(|| int(text).map(Value::Int))
        .or_else(|| is_date(text).then_some(Value::Date))
        .unwrap_or(Value::Str)
}

/// `!!bool`: PyYAML's table, in any case.
pub(crate) fn bool_of(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "yes" | "true" | "on" => Some(true),
        "no" | "false" | "off" => Some(false),
        _ => None,
    }
}

fn signed(text: &str) -> (bool, &str) {
    match text.as_bytes().first() {
        Some(b'-') => (true, text.get(1..).unwrap_or("")),
        Some(b'+') => (false, text.get(1..).unwrap_or("")),
        _ => (false, text),
    }
}

fn all(text: &str, allowed: impl Fn(u8) -> bool) -> bool {
    text.bytes().all(|byte| byte == b'_' || allowed(byte))
}

fn starts_with_digit(text: &str) -> bool {
    text.as_bytes().first().is_some_and(u8::is_ascii_digit)
}

fn radix(digits: &str, base: u32) -> Option<i128> {
    i128::from_str_radix(&digits.replace('_', ""), base).ok()
}

/// A whole number; `None` also for one beyond 128 bits and for a prefix without digits, which PyYAML refuses.
pub(crate) fn int(text: &str) -> Option<i128> {
    let (negative, rest) = signed(text);
    let magnitude = if let Some(digits) = rest.strip_prefix("0b") {
        (!digits.is_empty() && all(digits, |b| matches!(b, b'0' | b'1'))).then(|| radix(digits, 2))??
    } else if let Some(digits) = rest.strip_prefix("0x") {
        (!digits.is_empty() && all(digits, |b| b.is_ascii_hexdigit())).then(|| radix(digits, 16))??
    } else if rest == "0" {
        0
    } else if let Some(digits) = rest.strip_prefix('0') {
        if !all(digits, |b| matches!(b, b'0'..=b'7')) {
            return None;
        }
        radix(&format!("0{digits}"), 8)?
    } else if starts_with_digit(rest) {
        if rest.contains(':') {
            sixty(rest)?
        } else {
            all(rest, |b| b.is_ascii_digit()).then(|| radix(rest, 10))??
        }
    } else {
        return None;
    };
    Some(if negative { -magnitude } else { magnitude })
}

/// `1:30` is ninety: base sixty, every part but the first below sixty.
fn sixty(text: &str) -> Option<i128> {
    let mut parts = text.split(':');
    let first = parts.next()?;
    if !all(first, |b| b.is_ascii_digit()) {
        return None;
    }
    let mut total = radix(first, 10)?;
    for part in parts {
        if !is_sixtieth(part) {
            return None;
        }
        total = total.checked_mul(60)?.checked_add(part.parse().ok()?)?;
    }
    Some(total)
}

fn is_sixtieth(part: &str) -> bool {
    match part.as_bytes() {
        [one] => one.is_ascii_digit(),
        [ten, one] => matches!(ten, b'0'..=b'5') && one.is_ascii_digit(),
        _ => false,
    }
}

/// A number with a dot. An exponent needs a sign: `1.5e3` is a string, `1.5e+3` a number.
pub(crate) fn float(text: &str) -> Option<f64> {
    if matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Some(f64::NAN);
    }
    let (negative, rest) = signed(text);
    let sign = if negative { -1.0 } else { 1.0 };
    if matches!(rest, ".inf" | ".Inf" | ".INF") {
        return Some(sign * f64::INFINITY);
    }
    let (whole, fraction) = rest.split_once('.')?;
    if whole.is_empty() {
        // Only without a sign: `-.5` is a string.
        return if rest.len() == text.len() && starts_with_digit(fraction) { decimal(rest) } else { None };
    }
    if !starts_with_digit(whole) {
        return None;
    }
    if whole.contains(':') {
        return sixty_float(whole, fraction).map(|number| sign * number);
    }
    if !all(whole, |b| b.is_ascii_digit()) {
        return None;
    }
    decimal(rest).map(|number| sign * number)
}

fn decimal(text: &str) -> Option<f64> {
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (text.get(..at)?, text.get(at + 1..)?),
        None => (text, ""),
    };
    let (_, fraction) = mantissa.split_once('.')?;
    if !all(fraction, |b| b.is_ascii_digit()) {
        return None;
    }
    if !(exponent.is_empty() && mantissa.len() == text.len()) {
        let digits = exponent.strip_prefix(['-', '+'])?;
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
    }
    text.replace('_', "").parse().ok()
}

fn sixty_float(whole: &str, fraction: &str) -> Option<f64> {
    if !all(fraction, |b| b.is_ascii_digit()) {
        return None;
    }
    let mut parts: Vec<&str> = whole.split(':').collect();
    let last = parts.pop()?;
    let (first, middle) = parts.split_first()?;
    if !all(first, |b| b.is_ascii_digit())
        || !is_sixtieth(last)
        || !middle.iter().all(|part| is_sixtieth(part))
    {
        return None;
    }
    let mut total: f64 = first.replace('_', "").parse().ok()?;
    for part in middle {
        total = total.mul_add(60.0, part.parse().ok()?);
    }
    let last: f64 = format!("{last}.{}", fraction.replace('_', "")).parse().ok()?;
    Some(total.mul_add(60.0, last))
}

/// `2024-06-01`, or a date with a time.
fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    if !((0..4).all(digit) && bytes.get(4) == Some(&b'-')) {
        return false;
    }
    let plain =
        bytes.len() == 10 && digit(5) && digit(6) && bytes.get(7) == Some(&b'-') && digit(8) && digit(9);
    plain || is_timestamp(text.get(5..).unwrap_or(""))
}

/// What follows `YYYY-`: `M-D`, `T` or blanks, `H:MM:SS`, a fraction, a zone.
fn is_timestamp(text: &str) -> bool {
    fn digits(text: &str, least: usize, most: usize) -> Option<&str> {
        let count = text.bytes().take(most).take_while(u8::is_ascii_digit).count();
        if count < least { None } else { text.get(count..) }
    }
    fn blanks(text: &str) -> &str {
        text.trim_start_matches([' ', '\t'])
    }
    fn zone(text: &str) -> Option<&str> {
        if let Some(rest) = text.strip_prefix('Z') {
            return Some(rest);
        }
        let rest = digits(text.strip_prefix(['-', '+'])?, 1, 2)?;
        match rest.strip_prefix(':') {
            Some(minutes) => digits(minutes, 2, 2),
            None => Some(rest),
        }
    }
    fn read(text: &str) -> Option<&str> {
        let rest = digits(digits(text, 1, 2)?.strip_prefix('-')?, 1, 2)?;
        let time = match rest.strip_prefix(['T', 't']) {
            Some(time) => time,
            None if rest.starts_with([' ', '\t']) => blanks(rest),
            None => return None,
        };
        let rest = digits(digits(time, 1, 2)?.strip_prefix(':')?, 2, 2)?;
        let rest = digits(rest.strip_prefix(':')?, 2, 2)?;
        let rest = match rest.strip_prefix('.') {
            Some(fraction) => fraction.trim_start_matches(|c: char| c.is_ascii_digit()),
            None => rest,
        };
        if rest.is_empty() { Some(rest) } else { zone(blanks(rest)) }
    }
    read(text) == Some("")
}
