-- Finds books whose title has a word in it.
-- All books, where no word is given.
-- effect: pure
-- param word?: {"type": ["string", "null"]}
-- none: no such book
-- cap: 400
-- timeout: 2s
SELECT id, title, price, reserved, cover FROM books WHERE :word IS NULL OR title LIKE '%' || :word || '%' ORDER BY id;
