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
        }
    }
    return attributes;
}

inline std::vector<Row> table_of(int64_t rows, const uint64_t *keys, const int64_t *counts, const double *costs) {
    std::vector<Row> table(rows);
    for (int64_t i = 0; i < rows; ++i) table[i] = {keys[i], counts[i], costs[i]};
    return table;
}

class Walk {
  public:
    Walk(std::vector<Attribute> attributes) : attributes_(std::move(attributes)), tables_(attributes_.size() + 1) {}

    // Call enter(attribute, step) before the nodes with this step of the attribute; if it returns false they are
    // skipped, and so are higher steps. Call visit(table) at every node.
    template <class Enter, class Visit> void run(std::vector<Row> table, Enter enter, Visit visit) {
        tables_[0] = std::move(table);
        descend(0, enter, visit);
    }

  private:
    template <class Enter, class Visit> void descend(size_t depth, Enter &enter, Visit &visit) {
        if (depth == attributes_.size()) return visit(tables_[depth]);
        const Attribute &attribute = attributes_[depth];
        const bool last = depth + 1 == attributes_.size();
        for (size_t step = 0;; ++step) {
            if (!enter(depth, step)) return;
            if (last) {
                visit(tables_[depth]);
            } else {
                tables_[depth + 1] = tables_[depth];
                descend(depth + 1, enter, visit);
            }
            if (step == attribute.maps.size()) return;
            raise(tables_[depth], attribute, step);
        }
    }

    static void raise(std::vector<Row> &table, const Attribute &attribute, size_t step) {
        const int32_t *map = attribute.maps[step];
        const double *change = attribute.changes[step];
        const uint64_t field = attribute.mask << attribute.shift;
        for (Row &row : table) {
            const uint64_t code = (row.key & field) >> attribute.shift;
            row.key = (row.key & ~field) | static_cast<uint64_t>(map[code]) << attribute.shift;
            row.cost += change[code];
        }
        // Runs of equal keys up to this field, then equal keys become one row.
        size_t kept = 0;
        for (size_t start = 0, end; start < table.size(); start = end) {
            const uint64_t prefix = table[start].key >> attribute.shift;
            bool ordered = true;
            for (end = start + 1; end < table.size() && table[end].key >> attribute.shift == prefix; ++end)
                ordered = ordered && table[end - 1].key <= table[end].key;
            if (!ordered) sort(table.data() + start, end - start);
            size_t last = kept;
            table[kept++] = table[start];
            for (size_t i = start + 1; i < end; ++i) {
                if (table[i].key == table[last].key)
                    table[last].count += table[i].count;
                else
                    last = kept, table[kept++] = table[i];
            }
        }
        table.resize(kept);
    }

    // The rows are a few ascending runs, one per value that was merged: merge neighbours until one is left.
    static void sort(Row *rows, size_t number) {
        constexpr size_t FEW = 24;
        if (number <= FEW) {
            for (size_t i = 1; i < number; ++i) {
                const Row row = rows[i];
                size_t j = i;
                for (; j > 0 && row.key < rows[j - 1].key; --j) rows[j] = rows[j - 1];
                rows[j] = row;
            }
            return;
        }
        thread_local std::vector<Row> buffer;
        thread_local std::vector<size_t> runs;
        buffer.resize(number);
        runs.assign(1, 0);
        for (size_t i = 1; i < number; ++i)
            if (rows[i].key < rows[i - 1].key) runs.push_back(i);
        runs.push_back(number);
        Row *from = rows, *to = buffer.data();
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

    std::vector<Attribute> attributes_;
    std::vector<std::vector<Row>> tables_;
};

} // namespace shoal
