//! Bytes on disk: what ESE database, log, checkpoint and flush-map files are made of.
