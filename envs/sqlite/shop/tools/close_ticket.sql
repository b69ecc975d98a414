-- Closes the ticket and ends the work.
-- effect: episode_local
-- param outcome: {"type": "string", "enum": ["done", "partly", "refused", "escalated"]}
-- param answer?: {"type": "string", "description": "what was asked to know, or the code of the rule that forbids what was asked"}
-- ends: yes
UPDATE ticket SET outcome = :outcome, answer = :answer;
