// A walk over all nodes of a box of the lattice, each rolled up from the one before it. The readable twin is in
// kernels/walk.py.
//
// A table is the distinct tuples of a node, ascending: attributes are bit fields of one key, the first one most
// significant, a sensitive attribute (if any) least. The walk is depth first: the last attribute is raised first. Raising
// an attribute keeps the order of the keys up to and including its field, since its codes never decrease; only the keys
// that agree so far have to be sorted.
#pragma once
#include "shoal.h"

#include <algorithm>
#include <vector>

namespace shoal {

struct Row {
    uint64_t key;
    int64_t count;
    double cost; // of a record with the quasi-identifiers of the key
    bool operator<(const Row &other) const { return key < other.key; }
};

// One attribute: where its field is, and what every step from one level to the next does.
struct Attribute {
    int shift;
    uint64_t mask; // of the field, before it is shifted
    std::vector<const int32_t *> maps;   // maps[s][code]: the code one level up
    std::vector<const double *> changes; // changes[s][code]: what the step adds to the cost
    std::vector<uint64_t> sizes;         // sizes[s]: how many codes both have
};

// Steps come one after the other, attribute by attribute: for each its length, and in `maps` and `changes` that many
// entries.
inline std::vector<Attribute> attributes_of(int32_t number, const int32_t *steps, const int32_t *shifts, const int32_t *bits,
                                     const int64_t *lengths, const int32_t *maps, const double *changes) {
    std::vector<Attribute> attributes(number);
    for (int32_t d = 0; d < number; ++d) {
        attributes[d].shift = shifts[d];
        attributes[d].mask = bits[d] ? ~uint64_t(0) >> (64 - bits[d]) : 0;
        for (int32_t step = 0; step < steps[d]; ++step, maps += *lengths, changes += *lengths, ++lengths) {
            attributes[d].maps.push_back(maps);
            attributes[d].changes.push_back(changes);
            attributes[d].sizes.push_back(static_cast<uint64_t>(*lengths));
        }
    }
    return attributes;
}

inline std::vector<Row> table_of(int64_t rows, const uint64_t *keys, const int64_t *counts, const double *costs) {
    std::vector<Row> table(rows);
    for (int64_t i = 0; i < rows; ++i) table[i] = {keys[i], counts[i], costs[i]};
    return table;
}

// The rows are a few ascending runs, one per value that was merged: merge neighbours until one is left.
template <class Item> void merge_runs(Item *rows, size_t number) {
    constexpr size_t FEW = 24;
    if (number <= FEW) {
        for (size_t i = 1; i < number; ++i) {
            const Item row = rows[i];
            size_t j = i;
            for (; j > 0 && row < rows[j - 1]; --j) rows[j] = rows[j - 1];
            rows[j] = row;
        }
        return;
    }
    thread_local std::vector<Item> buffer;
    thread_local std::vector<size_t> runs;
    buffer.resize(number);
    runs.assign(1, 0);
    for (size_t i = 1; i < number; ++i)
        if (rows[i] < rows[i - 1]) runs.push_back(i);
    runs.push_back(number);
    Item *from = rows, *to = buffer.data();
    while (runs.size() > 2) {
        size_t left = 1;
        for (size_t i = 0; i + 1 < runs.size(); i += 2) {
            const size_t middle = runs[i + 1], end = i + 2 < runs.size() ? runs[i + 2] : middle;
            std::merge(from + runs[i], from + middle, from + middle, from + end, to + runs[i]);
            runs[left++] = end;
        }
        runs.resize(left);
        std::swap(from, to);
    }
    if (from != rows) std::copy(from, from + number, rows);
}

class Walk {
  public:
    Walk(std::vector<Attribute> attributes) : attributes_(std::move(attributes)), tables_(attributes_.size()) {}

    // Call enter(attribute, step) before the nodes with this step of the attribute; if it returns false they are
    // skipped, and so are higher steps. Call visit(table) at every node.
    template <class Enter, class Visit> void run(const std::vector<Row> &table, Enter enter, Visit visit) {
        descend(0, table, enter, visit);
    }

  private:
    template <class Enter, class Visit>
    void descend(size_t depth, const std::vector<Row> &table, Enter &enter, Visit &visit) {
        if (depth == attributes_.size()) return visit(table);
        const Attribute &attribute = attributes_[depth];
        for (size_t step = 0;; ++step) {
            if (!enter(depth, step)) return;
            const std::vector<Row> &raised = step ? tables_[depth] : table;
            descend(depth + 1, raised, enter, visit);
            if (step == attribute.maps.size()) return;
            raise(raised, tables_[depth], attribute, step);
        }
    }

    // Write to `to` the rows of `from`, which may be the same table, one level higher.
    static void raise(const std::vector<Row> &from, std::vector<Row> &to, const Attribute &attribute, size_t step) {
        const int32_t *map = attribute.maps[step];
        const double *change = attribute.changes[step];
        const uint64_t field = attribute.mask << attribute.shift;
        const size_t rows = from.size();
        to.resize(rows);
        // Runs of equal keys up to this field, then equal keys become one row.
        size_t kept = 0;
        for (size_t next = 0; next < rows;) {
            const size_t start = kept;
            uint64_t prefix = 0, before = 0;
            bool ordered = true;
            for (; next < rows; ++next) {
                Row row = from[next];
                const uint64_t code = (row.key & field) >> attribute.shift;
                row.key = (row.key & ~field) | static_cast<uint64_t>(map[code]) << attribute.shift;
                if (kept == start)
                    prefix = row.key >> attribute.shift;
                else if (row.key >> attribute.shift != prefix)
                    break;
                row.cost += change[code];
                ordered = ordered && before <= row.key;
                before = row.key;
                to[kept++] = row;
            }
            const size_t end = kept;
            if (!ordered) merge_runs(to.data() + start, end - start);
            kept = start;
            for (size_t i = start; i < end; ++i) {
                if (i > start && to[i].key == to[kept - 1].key)
                    to[kept - 1].count += to[i].count;
                else
                    to[kept++] = to[i];
            }
        }
        to.resize(kept);
    }

    std::vector<Attribute> attributes_;
    std::vector<std::vector<Row>> tables_; // by attribute: raised so far
};

} // namespace shoal
