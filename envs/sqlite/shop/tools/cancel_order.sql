-- Cancels an order that has not left the house. It cannot be taken back.
-- effect: episode_local
-- param order: {"type": "string", "description": "the order's number, four digits"}
-- none: nothing was cancelled: no such order, or it has left the house
UPDATE orders SET status = 'cancelled'
WHERE number = trim(:order) AND status IN ('placed', 'packed')
RETURNING 'cancelled ' || number;
