-- The database of a shop's support desk. What an agent changes is written down by the triggers below, so that a task's checks
-- can say what must have been done and, with the same words, that nothing else was: see the views at the end.

CREATE TABLE products (
  sku TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  cents INTEGER NOT NULL,
  stock INTEGER NOT NULL,
  final_sale INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE customers (
  email TEXT PRIMARY KEY,
  name TEXT NOT NULL
);

CREATE TABLE orders (
  number TEXT PRIMARY KEY,
  email TEXT NOT NULL REFERENCES customers,
  status TEXT NOT NULL CHECK (status IN ('placed', 'packed', 'shipped', 'delivered', 'cancelled')),
  ordered TEXT NOT NULL,    -- dates: 2026-03-15
  promised TEXT NOT NULL,
  delivered TEXT,           -- NULL: not yet
  address TEXT NOT NULL
);
CREATE INDEX orders_of ON orders (email);

CREATE TABLE items (
  number TEXT NOT NULL REFERENCES orders,
  sku TEXT NOT NULL REFERENCES products,
  quantity INTEGER NOT NULL,
  cents INTEGER NOT NULL,   -- paid for all of them
  refunded INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (number, sku)
);

CREATE TABLE vouchers (
  id INTEGER PRIMARY KEY,
  number TEXT NOT NULL REFERENCES orders,
  dollars INTEGER NOT NULL CHECK (dollars BETWEEN 1 AND 50),
  before INTEGER NOT NULL DEFAULT 0   -- given before the ticket
);

CREATE TABLE escalations (
  id INTEGER PRIMARY KEY,
  number TEXT NOT NULL REFERENCES orders,
  reason TEXT NOT NULL
);

-- How the ticket was closed; NULL: it is open.
CREATE TABLE ticket (
  outcome TEXT CHECK (outcome IN ('done', 'partly', 'refused', 'escalated')),
  answer TEXT
);
INSERT INTO ticket VALUES (NULL, NULL);

-- One line for each change. What the agent wrote itself stands in quotes, so that it cannot pass for another change.
CREATE TABLE changes (id INTEGER PRIMARY KEY, what TEXT NOT NULL);

CREATE TRIGGER cancelled AFTER UPDATE OF status ON orders BEGIN
  INSERT INTO changes (what) VALUES ('cancel ' || new.number);
END;
CREATE TRIGGER moved AFTER UPDATE OF address ON orders BEGIN
  INSERT INTO changes (what) VALUES ('move ' || new.number || ' to ' || quote(new.address));
END;
CREATE TRIGGER refunded AFTER UPDATE OF refunded ON items BEGIN
  INSERT INTO changes (what) VALUES ('refund ' || new.number || ' ' || new.sku);
END;
CREATE TRIGGER swapped AFTER UPDATE OF sku ON items BEGIN
  INSERT INTO changes (what) VALUES ('swap ' || new.number || ' ' || old.sku || ' for ' || new.sku);
END;
CREATE TRIGGER given AFTER INSERT ON vouchers WHEN NOT new.before BEGIN
  INSERT INTO changes (what) VALUES ('give ' || new.number || ' ' || new.dollars);
END;
CREATE TRIGGER escalated AFTER INSERT ON escalations BEGIN
  INSERT INTO changes (what) VALUES ('escalate ' || new.number);
END;

-- What checks read: all that was changed, in one text, and how the ticket was closed.
CREATE VIEW done (what) AS
  SELECT ifnull(group_concat(what, '; '), 'nothing') FROM (SELECT what FROM changes ORDER BY what);
CREATE VIEW closed (outcome, answer) AS
  SELECT ifnull(outcome, 'open'), lower(trim(ifnull(answer, ''))) FROM ticket;

INSERT INTO products (sku, name, cents, stock, final_sale) VALUES
  ('mug-1', 'Blue mug', 850, 40, 0),
  ('mug-2', 'Green mug', 850, 12, 0),
  ('mug-3', 'Chipped mug', 300, 5, 1),
  ('pan-1', 'Frying pan, 24 cm', 3990, 9, 0),
  ('pan-2', 'Frying pan, 28 cm', 4990, 0, 0),
  ('pan-3', 'Grill pan', 3990, 4, 0),
  ('pot-1', 'Steel pot, 3 l', 4590, 7, 0),
  ('pot-2', 'Cast iron pot, 5 l', 21900, 3, 0),
  ('pot-3', 'Stock pot, 8 l', 4590, 0, 0),
  ('knife-1', 'Chef''s knife', 6490, 11, 0),
  ('knife-2', 'Bread knife', 2990, 18, 0),
  ('knife-3', 'Display knife', 1990, 2, 1),
  ('kettle-1', 'Stove kettle', 3490, 6, 0),
  ('kettle-2', 'Electric kettle', 5490, 8, 0),
  ('scale-1', 'Kitchen scale', 2490, 15, 0),
  ('scale-2', 'Baker''s scale', 2490, 10, 0),
  ('mixer-1', 'Hand mixer', 4490, 5, 0),
  ('mixer-2', 'Stand mixer', 34900, 2, 0),
  ('board-1', 'Oak board', 2790, 13, 0),
  ('board-2', 'Beech board', 2790, 0, 0),
  ('apron-1', 'Linen apron', 1890, 21, 0),
  ('apron-2', 'Last season''s apron', 900, 6, 1),
  ('jar-1', 'Storage jar', 690, 60, 0),
  ('jar-2', 'Storage jar, large', 990, 33, 0);
