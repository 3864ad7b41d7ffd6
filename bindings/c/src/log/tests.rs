use super::*;
use bowline_wire::eventlog::write_header;

/// A log in memory.
struct Memory {
    bytes: Vec<u8>,
    at: usize,
}

impl ReadAt for Memory {
    const READ_AHEAD: usize = 0;

    fn read_at(&mut self, offset: u64, n_bytes: usize, bytes: &mut Vec<u8>) -> io::Result<usize> {
        self.go_to(offset)?;
        let until = self.bytes.len().min(self.at + n_bytes);
        let read = self.bytes.get(self.at..until).unwrap_or_default();
        bytes.extend_from_slice(read);
        self.at += read.len();
        Ok(read.len())
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.bytes.len() as u64)
    }
}

impl Stream for Memory {
    fn position(&self) -> io::Result<u64> {
        Ok(self.at as u64)
    }

    fn go_to(&mut self, position: u64) -> io::Result<()> {
        self.at = usize::try_from(position).expect("small");
        Ok(())
    }
}

/// Events 0, 1, ... at 1000, 1010, ... microseconds.
fn log(payload_lens: impl IntoIterator<Item = usize>) -> Memory {
    let mut bytes = Vec::new();
    for (number, len) in (0..).zip(payload_lens) {
        write_header(number, 1_000 + 10 * number, "CHANNEL", len, &mut bytes)
            .expect("it can be written");
        bytes.extend((0..len).map(|_| 7));
    }
    Memory { bytes, at: 0 }
}

fn numbers(log: &mut Memory) -> (Vec<i64>, u64) {
    let (mut numbers, mut all_skipped) = (Vec::new(), 0);
    loop {
        let found = next(log, |record| record.number).expect("memory can be read");
        all_skipped += found.skipped;
        match found.made {
            Some(number) => numbers.push(number),
            None => return (numbers, all_skipped),
        }
    }
}

#[test]
fn records_come_in_order_and_the_stream_is_behind_each() {
    let mut log = log([0, 5, 100_000, 1]);
    let first = next(&mut log, |record| record.payload.len()).unwrap();
    let expected = Next {
        made: Some(0),
        skipped: 0,
    };
    assert_eq!(first, expected);
    assert_eq!(log.at, 28 + 7);
    assert_eq!(numbers(&mut log), (vec![1, 2, 3], 0));
    assert_eq!(log.at, log.bytes.len());
}

#[test]
fn damage_costs_the_record_that_it_touches() {
    let mut log = log([10; 100]);
    // The sync word of record 50.
    let at = 50 * (28 + 7 + 10);
    *log.bytes.get_mut(at + 1).unwrap() ^= 1;
    let (found, skipped) = numbers(&mut log);
    assert_eq!(
        found,
        (0..100).filter(|number| *number != 50).collect::<Vec<_>>()
    );
    assert_eq!(skipped, 28 + 7 + 10);
}

#[test]
fn a_log_that_was_cut_off_gives_what_is_whole() {
    let mut log = log([10; 3]);
    log.bytes.truncate(log.bytes.len() - 1);
    assert_eq!(numbers(&mut log), (vec![0, 1], 44));
}

#[test]
fn a_time_is_found_in_small_and_large_logs() {
    let logs = [
        log([3; 7]),
        log((0..3_000).map(|number| number * 37 % 2_000)),
        log([200_000; 9]),
    ];
    for mut log in logs {
        let n_records = i64::try_from(numbers(&mut log).0.len()).unwrap();
        for number in [0, 1, 2, n_records / 2, n_records - 1] {
            for utime in [1_000 + 10 * number - 9, 1_000 + 10 * number] {
                go_to_time(&mut log, utime).unwrap();
                let found = next(&mut log, |record| record.number).unwrap();
                let expected = Next {
                    made: Some(number),
                    skipped: 0,
                };
                assert_eq!(found, expected, "{utime} of {n_records}");
            }
        }
        go_to_time(&mut log, 1_000_000).unwrap();
        assert_eq!(numbers(&mut log), (vec![], 0));
    }
}
