-- Changes the address that an order goes to.
-- effect: episode_local
-- param order: {"type": "string", "description": "the order's number, four digits"}
-- param address: {"type": "string", "description": "the new address as the customer wrote it, such as 3 Mill Lane, Cork"}
-- none: nothing was changed: no such order
UPDATE orders SET address = trim(:address)
WHERE number = trim(:order)
RETURNING number || ' goes to ' || address;
