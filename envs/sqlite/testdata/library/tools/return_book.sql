-- Takes a book back.
-- effect: episode_local
-- param book: {"type": "integer"}
-- none: it was not lent
DELETE FROM loans WHERE book = :book;
