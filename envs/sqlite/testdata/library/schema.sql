-- A library with few books: what the shop has no use for is tried here.
CREATE TABLE books (id INTEGER PRIMARY KEY, title TEXT NOT NULL, price REAL, reserved INTEGER NOT NULL DEFAULT 0, cover BLOB);
CREATE TABLE loans (book INTEGER NOT NULL REFERENCES books, reader TEXT NOT NULL, days INTEGER NOT NULL CHECK (days BETWEEN 1 AND 28));
CREATE TABLE said (text TEXT);
CREATE TRIGGER lent_already BEFORE INSERT ON loans WHEN EXISTS (SELECT 1 FROM loans WHERE book = new.book) BEGIN
  SELECT RAISE(ABORT, 'the book is lent; it comes back');
END;
