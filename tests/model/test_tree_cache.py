"""The tree of slots: paths, padding, growth and compaction, with values that tell slots apart."""

import torch

from tsgen.model.tree_cache import FIRST_SLOTS, TreeCache


def write(tree, rows, numbers):
    """One layer, one head, size 1: the key is a number, the value its negative."""
    keys = torch.tensor(numbers, dtype=torch.float32).view(-1, 1, 1)
    keys, values = tree.write(0, rows, keys, -keys)
    assert torch.equal(keys, -values)
    return keys[:, 0, :, 0].tolist()  # [R, L]


def test_paths_are_right_aligned_and_masked():
    tree = TreeCache()
    roots = tree.roots(2)
    assert write(tree, roots, [1, 2]) == [[1], [2]]
    first = tree.extend(torch.tensor([0]))
    assert write(tree, first, [3]) == [[1, 3]]
    assert first.mask is None
    ragged = tree.extend(torch.tensor([2, 1, 2]))  # node 2 is the child of node 0
    paths = write(tree, ragged, [4, 5, 6])
    assert (paths[0], paths[1][1:], paths[2]) == ([1, 3, 4], [2, 5], [1, 3, 6])
    assert ragged.mask.tolist() == [[True] * 3, [False, True, True], [True] * 3]
    assert ragged.depths.tolist() == [2, 1, 2]
    assert ragged.queries.tolist() == [0, 1, 0]
    assert ragged.nodes.tolist() == [3, 4, 5]


def test_keep_drops_what_is_on_no_path():
    tree = TreeCache()
    write(tree, tree.roots(2), [1, 2])
    write(tree, tree.extend(torch.tensor([0, 0, 1])), [3, 4, 5])  # nodes 2, 3, 4
    write(tree, tree.extend(torch.tensor([3])), [6])  # node 5: 1, 4, 6
    assert tree.keep(torch.tensor([5, 1])).tolist() == [3, 1]
    assert len(tree) == 4  # 1, 2, 4, 6
    rows = tree.extend(torch.tensor([3, 1]))
    paths = write(tree, rows, [7, 8])
    assert (paths[0], paths[1][2:]) == ([1, 4, 6, 7], [2, 8])


def test_keep_after_keep_with_leftovers_behind_short_paths():
    tree = TreeCache()
    write(tree, tree.roots(1), [1])
    write(tree, tree.extend(torch.tensor([0] * 5)), [2, 3, 4, 5, 6])
    write(tree, tree.extend(torch.tensor([5, 5])), [7, 8])
    kept = tree.keep(torch.tensor([7, 1]))
    write(tree, tree.extend(kept), [9, 10])
    kept = tree.keep(torch.tensor([len(tree) - 1]))
    assert write(tree, tree.extend(kept), [11]) == [[1, 2, 10, 11]]


def test_pools_grow_and_keep_what_they_hold():
    tree = TreeCache()
    rows = tree.roots(1)
    expected = [0.0]
    write(tree, rows, [0])
    for number in range(1, FIRST_SLOTS // 8):  # deeper than the first table, and more slots
        rows = tree.extend(rows.nodes[:1].expand(10))
        expected.append(float(number))
        paths = write(tree, rows, [number] * 10)
        assert paths[9] == expected
    assert len(tree) > FIRST_SLOTS


def test_nothing_to_extend():
    tree = TreeCache()
    write(tree, tree.roots(1), [1])
    empty = torch.zeros(0, dtype=torch.int64)
    assert write(tree, tree.extend(empty), []) == []
    assert tree.keep(empty).tolist() == []
    assert len(tree) == 0
