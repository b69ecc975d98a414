-- Hands an order to a supervisor, who decides.
-- effect: episode_local
-- param order: {"type": "string", "description": "the order's number, four digits"}
-- param reason: {"type": "string", "description": "what there is to decide, in a few words"}
-- none: nothing was escalated: no such order
INSERT INTO escalations (number, reason) SELECT number, :reason FROM orders WHERE number = trim(:order)
RETURNING 'a supervisor looks into order ' || number;
