"""The cluster engine: pieces of a question are answered by workers of Dask, wherever they are.

Scheduling, transport and trying again are Dask's. An order (``orders``) is one piece of a question:
some queries, and the references that they meet, by names and numbers (``parts``). A worker reads or
is sent the rows and answers with the best engine of its machine (``on_workers``). Queries of a
piece meet one part of the references after the other, and what was found is folded there, so that
lists of neighbours reach neither the scheduler nor the client. Rows that are compared among
themselves meet once (``own``). Pieces begin with what is known of their rows (``on_workers``,
``meetings``). The session (``session``) cuts questions into orders (``cut``), has them carried out
(``making``, ``gathering``) and puts the answers together.
"""
