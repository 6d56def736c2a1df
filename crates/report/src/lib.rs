//! Run folders: versioned results and the HTML report.
