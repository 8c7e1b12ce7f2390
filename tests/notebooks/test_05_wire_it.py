from tests.notebooks.conftest import Runner


def test_no_disk_limit_is_called_out(run: Runner) -> None:
    notebook = run("05_wire_it", disk_gib=0)
    assert "values" not in notebook.names
    assert "danger" in notebook.shown


def test_a_relative_path_gets_one_message(run: Runner) -> None:
    notebook = run("05_wire_it", disk_path="cache")
    assert "values" not in notebook.names
    assert "disk_path" in notebook.shown
