//! One row of `counters.csv`. Columns are found by name, so new ones do no harm.

use std::borrow::Cow;
use std::str;

use crate::table::TEXT_MARK;

/// The position of each column.
pub(super) struct Columns {
    begin: usize,
    length: usize,
    stream: usize,
    count: usize,
    bytes: usize,
    value: usize,
    mean: usize,
    p50: usize,
    p99: usize,
    /// Tables of older programs have none.
    p999: Option<usize>,
    max: usize,
}

pub(crate) struct Row<'l> {
    pub(crate) begin_s: f64,
    pub(crate) length_s: f64,
    pub(crate) stream: Cow<'l, str>,
    pub(crate) count: u64,
    pub(crate) bytes: u64,
    pub(crate) value: Option<f64>,
    pub(crate) latency_ms_mean: Option<f64>,
    pub(crate) latency_ms_p50: Option<f64>,
    pub(crate) latency_ms_p99: Option<f64>,
    pub(crate) latency_ms_p999: Option<f64>,
    pub(crate) latency_ms_max: Option<f64>,
}

impl Columns {
    /// The columns of a head; `None` when one is missing.
    pub(super) fn of(head: &[u8]) -> Option<Self> {
        let head = str::from_utf8(head).ok()?;
        let names: Vec<&str> = head.trim_end().split(',').collect();
        let at = |name: &str| names.iter().position(|found| *found == name);
        Some(Self {
            begin: at("begin_s")?,
            length: at("length_s")?,
            stream: at("stream")?,
            count: at("count")?,
            bytes: at("bytes")?,
            value: at("value")?,
            mean: at("latency_ms_mean")?,
            p50: at("latency_ms_p50")?,
            p99: at("latency_ms_p99")?,
            p999: at("latency_ms_p999"),
            max: at("latency_ms_max")?,
        })
    }

    /// The stream of a line as written, quotes included.
    pub(super) fn stream<'l>(&self, line: &'l [u8]) -> Option<&'l [u8]> {
        fields(line).nth(self.stream)
    }

    /// Parses a line; `None` when it is malformed.
    pub(super) fn row<'l>(&self, line: &'l [u8]) -> Option<Row<'l>> {
        let fields: Vec<&str> = fields(line).map(str::from_utf8).collect::<Result<_, _>>().ok()?;
        let field = |at: usize| fields.get(at).copied();
        let number = |at: usize| field(at)?.parse::<f64>().ok();
        // An empty field is `None`; an empty count is zero.
        let whole = |at: usize| match field(at)? {
            "" => Some(0),
            text => text.parse::<u64>().ok(),
        };
        let row = Row {
            begin_s: number(self.begin)?,
            length_s: number(self.length)?,
            stream: unquoted(field(self.stream)?),
            count: whole(self.count)?,
            bytes: whole(self.bytes)?,
            value: number(self.value),
            latency_ms_mean: number(self.mean),
            latency_ms_p50: number(self.p50),
            latency_ms_p99: number(self.p99),
            latency_ms_p999: self.p999.and_then(number),
            latency_ms_max: number(self.max),
        };
        (row.length_s > 0.0 && field(self.max).is_some()).then_some(row)
    }
}

/// The fields of a line; commas between quotes do not separate.
fn fields(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut within = false;
    line.split(move |byte| {
        within ^= *byte == b'"';
        *byte == b',' && !within
    })
}

fn unquoted(field: &str) -> Cow<'_, str> {
    match field.strip_prefix('"').and_then(|f| f.strip_suffix('"')) {
        Some(inner) => {
            let text = inner.strip_prefix(TEXT_MARK).unwrap_or(inner);
            Cow::Owned(text.replace("\"\"", "\""))
        }
        None => Cow::Borrowed(field),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_may_stand_anywhere() {
        let head = b"moon,stream,begin_s,length_s,bytes,count,value,latency_ms_max,latency_ms_p99,latency_ms_mean,latency_ms_p50\n";
        let columns = Columns::of(head).unwrap();
        let row = columns.row(b"full,\"a \"\"b\"\", c\",1,2,3,4,,7,6,5,4").unwrap();
        assert_eq!(row.stream, "a \"b\", c");
        let text = |cell: &str| unquoted(cell).into_owned();
        assert_eq!(text("\"'=1+1\""), "=1+1");
        assert_eq!(text("\"''a\""), "'a");
        assert_eq!((row.begin_s, row.length_s), (1.0, 2.0));
        assert_eq!((row.bytes, row.count, row.value), (3, 4, None));
        assert_eq!(row.latency_ms_mean, Some(5.0));
        assert_eq!((row.latency_ms_p99, row.latency_ms_max), (Some(6.0), Some(7.0)));
        assert!(columns.row(b"full,x,1,0,3,4,,7,6,5,4").is_none(), "no length");
        assert!(columns.row(b"full,x,1,2,3,4").is_none(), "torn");
        assert!(Columns::of(b"stream,count\n").is_none());
    }
}
