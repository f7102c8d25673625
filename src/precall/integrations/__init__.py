"""precall in other programs: training loops and the interfaces of other libraries.

Each module needs the library it is named after, and says so if that is missing; none is imported
with precall.
"""
