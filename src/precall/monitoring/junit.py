"""A gate in the format of JUnit, which services that run tests show."""

from xml.etree import ElementTree

from precall.monitoring.gate import Gate


def junit_text(gate: Gate) -> str:
    """Write one test case a check."""
    n_failed = sum(check.fails for check in gate.checks)
    suite = ElementTree.Element(
        "testsuite",
        name="precall gate",
        tests=str(len(gate.checks)),
        failures=str(n_failed),
        errors="0",
        skipped="0",
    )
    for check in gate.checks:
        case = ElementTree.SubElement(
            suite, "testcase", classname="precall.gate", name=check.what, time="0"
        )
        part = "failure" if check.fails else "system-out"
        told = ElementTree.SubElement(case, part)
        if check.fails:
            told.set("message", str(check))
        told.text = str(check)
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"
