"""Scripted solutions of tasks, from what an agent is shown: goal, elements and their boxes.

They look at no variable of a page, and never at the right answer. A task that has one can be solved
by clicking, typing and selecting; `policy` makes a policy of all of them.
"""
