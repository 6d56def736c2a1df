"""Reads databases of brunt with independent readers and compares every record.

    read_back.py DATABASE EXPECTED

EXPECTED holds a line for each message, sorted by id: id, folder, received, version, then subject and body in
hexadecimal, separated by tabs (empty: "-"). Prints one line for each reader; exit code 1 when any record differs.
"""

import sys

import pyesedb
from dissect.esedb import EseDB

COLUMNS = ["Id", "Folder", "Received", "Version", "Subject", "Body"]


def expected(path):
    unhex = lambda word: b"" if word == "-" else bytes.fromhex(word)
    with open(path) as lines:
        for line in lines:
            *numbers, subject, body = line.rstrip("\n").split("\t")
            yield tuple(map(int, numbers)) + (unhex(subject), unhex(body))


def with_dissect(path):
    with open(path, "rb") as file:
        for record in EseDB(file).table("Messages").records():
            values = [record.get(name) for name in COLUMNS]
            yield tuple(values[:4]) + tuple(value or b"" for value in values[4:])


def through_indexes(path, wanted):
    """Seeks some records through both indexes, as dissect.esedb does it: by separators, not by links."""
    found = 0
    some = wanted[::7]
    with open(path, "rb") as file:
        table = EseDB(file).table("Messages")
        for number, folder, received, *_ in some:
            for index, sought in [
                ("PrimaryKey", {"Id": number}),
                ("FolderReceived", {"Folder": folder, "Received": received}),
            ]:
                record = table.index(index).search(**sought)
                found += record is not None and record.get("Id") == number
    print(f"indexes: {found} of {2 * len(some)} records")
    return found == 2 * len(some)


def with_libesedb(path):
    file = pyesedb.file()
    file.open(path)
    try:
        table = file.get_table_by_name("Messages")
        names = [table.get_column(index).name for index in range(table.number_of_columns)]
        at = [names.index(name) for name in COLUMNS]
        for index in range(table.number_of_records):
            record = table.get_record(index)
            data = [record.get_value_data(column) for column in at[:4]]
            numbers = [int.from_bytes(bytes, "little", signed=True) for bytes in data]
            subject = record.get_value_data(at[4]) or b""
            if record.is_long_value(at[5]):
                body = record.get_value_data_as_long_value(at[5]).get_data()
            else:
                body = record.get_value_data(at[5])
            yield tuple(numbers) + (subject, body or b"")
    finally:
        file.close()


def compare(name, found, wanted):
    found = sorted(found)
    for one, other in zip(found, wanted):
        if one != other:
            print(f"{name}: read {short(one)}, expected {short(other)}")
            return False
    print(f"{name}: {len(found)} of {len(wanted)} records")
    return len(found) == len(wanted)


def short(record):
    return record[:4] + tuple((len(value), value[:16].hex()) for value in record[4:])


def main():
    database, path = sys.argv[1:]
    wanted = sorted(expected(path))
    readers = {"dissect.esedb": with_dissect, "libesedb": with_libesedb}
    good = [compare(name, reader(database), wanted) for name, reader in readers.items()]
    good.append(through_indexes(database, wanted))
    sys.exit(0 if all(good) else 1)


main()
