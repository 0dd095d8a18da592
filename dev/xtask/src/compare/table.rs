//! The samples of all rounds, their medians, and the table.

use super::{MANY, ONE, Subject};

/// One measurement of one subject.
#[derive(Debug, Clone, Default)]
pub(super) struct Sample {
    pub(super) cpu_us: f64,
    pub(super) p50_us: f64,
    pub(super) p99_us: f64,
    pub(super) per_second: f64,
    pub(super) idle_mib: f64,
    pub(super) mib: f64,
    pub(super) ready_ms: f64,
    pub(super) failed: u64,
    pub(super) foreign: f64,
}

/// All measurements.
#[derive(Debug, Default)]
pub(super) struct Figures(Vec<(Subject, usize, Sample)>);

impl Figures {
    pub(super) fn add(&mut self, subject: Subject, connections: usize, sample: Sample) {
        self.0.push((subject, connections, sample));
    }

    /// Failed answers of all measurements.
    pub(super) fn failed(&self) -> u64 {
        self.0.iter().map(|(_, _, sample)| sample.failed).sum()
    }

    fn of(&self, subject: Subject) -> impl Iterator<Item = &(Subject, usize, Sample)> {
        self.0.iter().filter(move |(of, _, _)| *of == subject)
    }

    fn median(&self, subject: Subject, connections: usize, value: impl Fn(&Sample) -> f64) -> f64 {
        let mut values: Vec<f64> =
            self.of(subject).filter(|(_, of, _)| *of == connections).map(|(_, _, s)| value(s)).collect();
        values.sort_by(f64::total_cmp);
        match values.as_slice() {
            [] => f64::NAN,
            sorted if sorted.len() % 2 == 1 => sorted[sorted.len() / 2],
            sorted => f64::midpoint(sorted[sorted.len() / 2 - 1], sorted[sorted.len() / 2]),
        }
    }

    fn added(&self, subject: Subject) -> f64 {
        let p50 = |subject| self.median(subject, ONE, |sample| sample.p50_us);
        p50(subject) - p50(Subject::Direct)
    }

    /// The table: medians of all rounds, failures as a sum, foreign load as the worst.
    pub(super) fn markdown(&self) -> String {
        let mut text = String::from(
            "| gateway | CPU us/request c=64 | x nginx | CPU us/request c=1 | x nginx | added p50 us c=1 | x nginx \
             | p99 us c=1 | req/s c=64 | MiB idle -> after | ready ms | failed | foreign cores |\n\
             |---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
        );
        for subject in [Subject::Direct, Subject::Nginx, Subject::Haleway] {
            text.push_str(&self.row(subject));
        }
        text
    }

    fn row(&self, subject: Subject) -> String {
        let cpu = |subject, connections| self.median(subject, connections, |sample| sample.cpu_us);
        let ratio = |own: f64, nginx: f64| match subject {
            Subject::Direct => "-".to_owned(),
            Subject::Nginx | Subject::Haleway => format!("{:.2}", own / nginx),
        };
        let failed: u64 = self.of(subject).map(|(_, _, sample)| sample.failed).sum();
        let foreign = self.of(subject).map(|(_, _, sample)| sample.foreign).fold(0.0, f64::max);
        let mut row = format!("| {}", subject.name());
        for connections in [MANY, ONE] {
            let own = cpu(subject, connections);
            cell(&mut row, format_args!("{own:.1}"));
            cell(&mut row, format_args!("{}", ratio(own, cpu(Subject::Nginx, connections))));
        }
        cell(&mut row, format_args!("{:.0}", self.added(subject)));
        cell(&mut row, format_args!("{}", ratio(self.added(subject), self.added(Subject::Nginx))));
        cell(&mut row, format_args!("{:.0}", self.median(subject, ONE, |sample| sample.p99_us)));
        cell(&mut row, format_args!("{:.0}", self.median(subject, MANY, |sample| sample.per_second)));
        let idle = self.median(subject, MANY, |sample| sample.idle_mib);
        cell(&mut row, format_args!("{idle:.1} -> {:.1}", self.median(subject, MANY, |sample| sample.mib)));
        cell(&mut row, format_args!("{:.0}", self.median(subject, ONE, |sample| sample.ready_ms)));
        cell(&mut row, format_args!("{failed}"));
        cell(&mut row, format_args!("{foreign:.2}"));
        row.push_str(" |\n");
        row
    }
}

fn cell(row: &mut String, value: std::fmt::Arguments<'_>) {
    row.push_str(&format!(" | {value}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures() -> Figures {
        let mut figures = Figures::default();
        let mut add = |subject, connections, cpu_us, p50_us| {
            figures.add(subject, connections, Sample { cpu_us, p50_us, ..Sample::default() });
        };
        for (subject, cpu, p50) in
            [(Subject::Direct, 10.0, 30.0), (Subject::Nginx, 40.0, 80.0), (Subject::Haleway, 60.0, 155.0)]
        {
            for noise in [5.0, 0.0, -1.0] {
                add(subject, ONE, cpu + noise, p50 + noise);
                add(subject, MANY, cpu + noise, p50 + noise);
            }
        }
        figures
    }

    #[test]
    fn ratios_are_of_medians_and_latency_is_what_was_added() {
        let table = figures().markdown();
        let rows: Vec<&str> = table.lines().collect();
        assert!(rows[2].starts_with("| none (direct) | 10.0 | - | 10.0 | - | 0 | - |"), "{}", rows[2]);
        assert!(
            rows[3].starts_with("| nginx proxy_pass | 40.0 | 1.00 | 40.0 | 1.00 | 50 | 1.00 |"),
            "{}",
            rows[3]
        );
        assert!(rows[4].starts_with("| haleway | 60.0 | 1.50 | 60.0 | 1.50 | 125 | 2.50 |"), "{}", rows[4]);
    }

    #[test]
    fn every_row_has_as_many_cells_as_the_head() {
        let table = figures().markdown();
        let cells: Vec<usize> = table.lines().map(|line| line.matches('|').count()).collect();
        assert!(cells.iter().all(|count| *count == cells[0]), "{table}");
    }

    #[test]
    fn a_failed_answer_is_not_averaged_away() {
        let mut figures = figures();
        figures.add(Subject::Haleway, ONE, Sample { failed: 1, ..Sample::default() });
        assert_eq!(figures.failed(), 1);
    }
}
