"""Which lines the paper's panels have."""

from __future__ import annotations

from platypoos.lab.experiments.paper import paper


def test_the_default_planner_is_in_every_panel_and_uct_where_noise_is_largest():
    blocks = paper(full=True).blocks
    assert len(blocks) == 10
    for block in blocks:
        assert "platypus" in {planner.name for planner in block.planners}
        labels = [planner.title for planner in block.planners]
        assert len(set(labels)) == len(labels) <= 10  # as many as there are colours
    panels = {block.title: [planner.name for planner in block.planners] for block in blocks}
    assert panels["b = 1"] == ["platypoos", "olop", "platypus"]
    assert panels["b = 50"] == ["platypoos", "olop", "platypus", "uct", "uct"]
