"""The order desk that the agents of this directory work at: four tools, and the end of the work.

A real desk takes its time: this one waits DESK_SECONDS before it answers, and notes what it was asked in desk.log. A task's data, which longhaul hands to the agent as LONGHAUL_TASK, is the desk's own knowledge:
    {"number": "48", "boxes": ["C7", "D2"], "place": "Oslo 7", "fragile": true}
"""

import json
import os
import time

SYSTEM = """You work at the order desk of a warehouse. You are asked where an order is, and find out with the tools.
An order lies in a box. A box lies in another box or stands at a place: a city and a shelf, such as "Oslo 7".
When you are done, call answer with the place; that ends the work."""


class Desk:
    def __init__(self):
        self.order = json.loads(os.environ["LONGHAUL_TASK"])
        self.place = None  # the answer
        self.inspected = False

    def asked(self, about: str):
        with open(os.path.join(os.environ["LONGHAUL_DIR"], "desk.log"), "a") as log:
            log.write(about + "\n")
        time.sleep(float(os.environ.get("DESK_SECONDS", "0")))

    def find_order(self, order: str) -> str:
        """Tells which box an order was put in.

        Args:
            order: The number of the order, two digits such as "48".
        """
        self.asked(order)
        if order != self.order["number"]:
            return "none"
        return f"{order} in box {self.order['boxes'][0]}" + (", fragile" if self.order["fragile"] else "")

    def track_box(self, box: str) -> str:
        """Tells where a box is: in another box, or at a place.

        Args:
            box: The name of the box, a letter and a digit such as "C7".
        """
        self.asked(box)
        boxes = self.order["boxes"]
        if box not in boxes:
            return "none"
        if box == boxes[-1]:
            return f"{box} at {self.order['place']}"
        return f"{box} in box {boxes[boxes.index(box) + 1]}"

    def inspect(self, box: str) -> str:
        """Looks into a box and tells the state of the goods.

        Args:
            box: The name of the box, a letter and a digit such as "C7".
        """
        self.asked(box)
        if box not in self.order["boxes"]:
            return "none"
        if box != self.order["boxes"][-1]:
            return f"{box} empty"
        self.inspected = True
        return f"{box} intact"

    def answer(self, place: str) -> str:
        """Gives the final answer.

        Args:
            place: The place of the order, a city and a shelf such as "Oslo 7".
        """
        self.place = place
        return "done"

    def report(self):
        """Writes what came of the work, for check.py. It is not printed: what agents print, the policy may have said."""
        with open(os.path.join(os.environ["LONGHAUL_DIR"], "report.json"), "w") as report:
            json.dump({"place": self.place, "inspected": self.inspected}, report)
