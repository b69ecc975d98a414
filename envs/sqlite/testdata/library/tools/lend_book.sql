-- Lends a book to a reader.
-- effect: episode_local
-- param book: {"type": "integer", "description": "its id"}
-- param reader: {"type": "string"}
-- param days: {"type": "number"}
INSERT INTO loans (book, reader, days) VALUES (:book, :reader, :days);
SELECT title || ' is lent to ' || :reader FROM books WHERE id = :book;
