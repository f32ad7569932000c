-- Who changed what is in the order of its time; the database counts nothing by a sequence.
ALTER TABLE audit DROP COLUMN id;
