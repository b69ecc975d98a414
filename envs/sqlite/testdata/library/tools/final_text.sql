-- The last word of the librarian.
-- effect: episode_local
-- param text: {"type": "string"}
INSERT INTO said VALUES (:text);
