// What every change of one attribute's level is worth at a node of the lattice. The readable twin is kernels/moves.py.
//
// A class is told by the sum of one random number per attribute, level and value: two classes agree by accident with a
// probability of 2^-64, and whoever uses the values decides on the node itself in the end.
#include "shoal.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace {

// Numbers for keys, in the order in which they come.
class Numbering {
  public:
    void clear(size_t most) {
        size_t size = 16;
        while (size < 2 * most) size *= 2;
        slots_.assign(size, {0, -1});
        next = 0;
    }
    int32_t of(uint64_t key) {
        const size_t mask = slots_.size() - 1;
        for (size_t place = (key ^ key >> 29) & mask;; place = (place + 1) & mask) {
            Slot &slot = slots_[place];
            if (slot.number < 0) return slot = {key, next}, next++;
            if (slot.key == key) return slot.number;
        }
    }
    int32_t next = 0;

  private:
    struct Slot {
        uint64_t key;
        int32_t number;
    };
    std::vector<Slot> slots_;
};

struct Attribute {
    int32_t levels;
    int64_t size;          // leaves
    const int32_t *column; // the leaf of every row
    const int32_t *codes;  // codes[level * size + leaf], and so on
    const uint64_t *keys;
    const double *costs;
    const int64_t *widths; // values per level
};

struct Class {
    uint64_t key;
    int64_t size;
    double cost; // of a record
    int32_t row; // any of its rows
    int32_t start, end;
};

class Node {
  public:
    Node(int64_t rows, std::vector<Attribute> attributes, const int64_t *counts, const int32_t *levels,
         int64_t smallest, int64_t allowed, double loss, double most)
        : rows_(rows), attributes_(std::move(attributes)), counts_(counts), levels_(levels), smallest_(smallest),
          allowed_(allowed), loss_(loss), most_(most) {}

    // Gather the rows by the keys of their classes.
    void gather(const uint64_t *keys) {
        std::vector<int32_t> labels(rows_);
        numbering_.clear(rows_);
        for (int64_t row = 0; row < rows_; ++row) {
            labels[row] = numbering_.of(keys[row]);
            if (labels[row] == static_cast<int32_t>(classes_.size()))
                classes_.push_back({keys[row], 0, 0.0, static_cast<int32_t>(row), 0, 0});
            classes_[labels[row]].size += counts_[row];
            ++classes_[labels[row]].end;
        }
        int32_t start = 0;
        for (Class &group : classes_) {
            const int32_t number = group.end;
            group.start = group.end = start;
            start += number;
            for (size_t j = 0; j < attributes_.size(); ++j) group.cost += cost(j, levels_[j], group.row);
        }
        order_.resize(rows_);
        for (int64_t row = 0; row < rows_; ++row) order_[classes_[labels[row]].end++] = static_cast<int32_t>(row);
    }

    // Value the wanted levels of every attribute, the others as they are; infinity where that is too much.
    void value(const uint8_t *wanted, double *totals) {
        lost_small();
        for (size_t j = 0; j < attributes_.size(); ++j)
            for (int32_t level = 0; level < attributes_[j].levels; ++level, ++totals, ++wanted) {
                *totals = std::numeric_limits<double>::infinity();
                if (!*wanted) continue;
                Sum sum;
                if (level < levels_[j] ? lower(j, level, sum) : raise(j, level, sum)) *totals = sum.total;
            }
    }

    // Sum up what is suppressed with one attribute at each level from `lowest` up to its own, the others as they are,
    // and what that adds to the cost of this attribute alone if a suppressed record pays `dearest` for it.
    //
    // Rows are told apart by their codes inside a class, never by the keys: were two classes to agree by accident, they
    // would look larger than they are, and what is suppressed would be too little, never too much.
    void outlook(const int32_t *lowest, const double *dearest, int64_t *suppressed, double *already, double *excess) {
        for (const Class &group : classes_) (group.size < smallest_ ? small_classes_ : large_).push_back(group);
        pieces_.resize(rows_ + 1);
        for (size_t j = 0; j < attributes_.size(); ++j) {
            const int32_t levels = attributes_[j].levels;
            std::fill(suppressed, suppressed + levels, 0);
            std::fill(excess, excess + levels, 0.0);
            suppress_small(j, lowest[j], dearest[j], suppressed, excess);
            std::copy(excess, excess + levels, already);
            if (lowest[j] < levels_[j])
                for (const Class &group : large_) split(group, j, lowest[j], dearest[j], suppressed, excess);
            suppressed += levels, already += levels, excess += levels;
        }
    }

  private:
    int32_t leaf(size_t j, int32_t row) const { return attributes_[j].column[row]; }
    double cost(size_t j, int32_t level, int32_t row) const {
        return attributes_[j].costs[level * attributes_[j].size + leaf(j, row)];
    }
    uint64_t key(size_t j, int32_t level, int32_t row) const {
        return attributes_[j].keys[level * attributes_[j].size + leaf(j, row)];
    }
    struct Sum {
        double total = 0.0;
        int64_t suppressed = 0;
    };

    // Add a class; return whether it is still worth going on.
    bool add(int64_t size, double cost, Sum &sum) const {
        if (size >= smallest_) {
            sum.total += static_cast<double>(size) * cost;
        } else {
            sum.total += static_cast<double>(size) * loss_, sum.suppressed += size;
        }
        return sum.total <= most_ && sum.suppressed <= allowed_;
    }

    // What is lost wherever a level is lowered: the classes that are too small already.
    void lost_small() {
        for (const Class &group : classes_)
            if (group.size < smallest_)
                add(group.size, loss_, small_);
            else
                large_.push_back(group);
    }

    // Classes join: their keys are counted again.
    bool raise(size_t j, int32_t level, Sum &sum) {
        if (level == levels_[j]) {
            for (const Class &group : classes_)
                if (!add(group.size, group.cost, sum)) return false;
            return true;
        }
        numbering_.clear(classes_.size());
        sizes_.clear(), joined_.clear();
        for (const Class &group : classes_) {
            const uint64_t changed = group.key - key(j, levels_[j], group.row) + key(j, level, group.row);
            const size_t number = static_cast<size_t>(numbering_.of(changed));
            if (number == sizes_.size()) {
                sizes_.push_back(0);
                joined_.push_back(group.cost - cost(j, levels_[j], group.row) + cost(j, level, group.row));
            }
            sizes_[number] += group.size;
        }
        for (size_t i = 0; i < sizes_.size(); ++i)
            if (!add(sizes_[i], joined_[i], sum)) return false;
        return true;
    }

    // Classes fall apart.
    bool lower(size_t j, int32_t level, Sum &sum) {
        const Attribute &attribute = attributes_[j];
        const int32_t *codes = attribute.codes + level * attribute.size;
        sum = small_;
        if (sum.total > most_ || sum.suppressed > allowed_) return false;
        sizes_.assign(attribute.widths[level], 0);
        for (const Class &group : large_) {
            const double others = group.cost - cost(j, levels_[j], group.row);
            parts_.clear();
            for (int32_t i = group.start; i < group.end; ++i) {
                const int32_t row = order_[i], code = codes[leaf(j, row)];
                if (!sizes_[code]) parts_.push_back(row);
                sizes_[code] += counts_[row];
            }
            bool worth = true;
            for (const int32_t row : parts_) {
                int64_t &size = sizes_[codes[leaf(j, row)]];
                worth = add(size, others + cost(j, level, row), sum) && worth;
                size = 0;
            }
            if (!worth) return false;
        }
        return true;
    }

    // The classes that are too small already are suppressed whatever the level.
    void suppress_small(size_t j, int32_t lowest, double dearest, int64_t *suppressed, double *excess) {
        const Attribute &attribute = attributes_[j];
        sizes_.assign(attribute.size, 0);
        int64_t all = 0;
        for (const Class &group : small_classes_) {
            all += group.size;
            for (int32_t i = group.start; i < group.end; ++i) sizes_[leaf(j, order_[i])] += counts_[order_[i]];
        }
        for (int32_t level = lowest; level <= levels_[j]; ++level) {
            const double *costs = attribute.costs + level * attribute.size;
            suppressed[level] += all;
            for (int64_t value = 0; value < attribute.size; ++value)
                excess[level] += static_cast<double>(sizes_[value]) * (dearest - costs[value]);
        }
        sizes_.assign(*std::max_element(attribute.widths, attribute.widths + attribute.levels), 0);
    }

    // The parts of a class that are too small at each level; `sizes_` is all zeros before and after.
    void split(const Class &group, size_t j, int32_t lowest, double dearest, int64_t *suppressed, double *excess) {
        const Attribute &attribute = attributes_[j];
        const int32_t *codes = attribute.codes + lowest * attribute.size;
        size_t number = 0;
        for (int32_t i = group.start; i < group.end; ++i) {
            const int32_t row = order_[i], value = attribute.column[row];
            int64_t &size = sizes_[codes[value]];
            pieces_[number].value = value;
            number += size == 0;
            size += counts_[row];
        }
        for (int32_t level = lowest;; codes += attribute.size) {
            const double *costs = attribute.costs + level * attribute.size;
            bool all = true;
            for (size_t i = 0; i < number; ++i) {
                Piece &piece = pieces_[i];
                int64_t &size = sizes_[codes[piece.value]];
                piece.size = size, size = 0;
                if (piece.size >= smallest_) continue;
                all = false;
                suppressed[level] += piece.size;
                excess[level] += static_cast<double>(piece.size) * (dearest - costs[piece.value]);
            }
            if (all || ++level == levels_[j]) return; // where all are large enough, so they are at the levels above
            const int32_t *above = codes + attribute.size;
            size_t joined = 0;
            for (size_t i = 0; i < number; ++i) {
                const Piece piece = pieces_[i];
                int64_t &size = sizes_[above[piece.value]];
                pieces_[joined].value = piece.value;
                joined += size == 0;
                size += piece.size;
            }
            number = joined;
        }
    }

    const int64_t rows_;
    const std::vector<Attribute> attributes_;
    const int64_t *counts_;
    const int32_t *levels_;
    const int64_t smallest_, allowed_;
    const double loss_, most_;
    Numbering numbering_;
    std::vector<Class> classes_, large_, small_classes_;
    Sum small_;
    std::vector<int32_t> order_, parts_;
    std::vector<int64_t> sizes_;
    std::vector<double> joined_;
    struct Piece {
        int32_t value; // any of its leaves
        int64_t size;
    };
    std::vector<Piece> pieces_;
};

// Describe the attributes and bring the keys of the rows from the levels `before` to `levels`.
std::vector<Attribute> described(int64_t rows, int32_t attributes, const int32_t *columns, const int64_t *shape,
                                 const int32_t *codes, const uint64_t *keys, const double *costs, const int64_t *widths,
                                 const int32_t *levels, int32_t *before, uint64_t *sums) {
    std::vector<Attribute> found;
    for (int32_t j = 0; j < attributes; ++j) {
        const int64_t size = shape[2 * j + 1], table = shape[2 * j] * size;
        const int32_t *column = columns + j * rows;
        found.push_back({static_cast<int32_t>(shape[2 * j]), size, column, codes, keys, costs, widths});
        if (before[j] != levels[j]) {
            const uint64_t *now = keys + levels[j] * size, *then = before[j] < 0 ? nullptr : keys + before[j] * size;
            for (int64_t row = 0; row < rows; ++row) sums[row] += now[column[row]] - (then ? then[column[row]] : 0);
            before[j] = levels[j];
        }
        codes += table, keys += table, costs += table, widths += shape[2 * j];
    }
    return found;
}

} // namespace

// `shape` holds the number of levels and of leaves of every attribute; `codes`, `keys` and `costs` hold one table of
// levels times leaves after the other, `widths` the number of values of every level. `sums` holds the keys of the rows
// at the levels `before`; both are brought to `levels`. Counts are positive. `totals` receives one entry per attribute
// and level: infinity where the move is not wanted, suppresses more than `allowed` records or costs more than `most`.
SHOAL_API void shoal_moves(int64_t rows, int64_t attributes, int64_t smallest, int64_t allowed, double loss, double most,
                           const int32_t *columns, const int64_t *counts, const int64_t *shape, const int32_t *codes,
                           const uint64_t *keys, const double *costs, const int64_t *widths, const int32_t *levels,
                           const uint8_t *wanted, int32_t *before, uint64_t *sums, double *totals) {
    auto found = described(rows, attributes, columns, shape, codes, keys, costs, widths, levels, before, sums);
    Node node(rows, std::move(found), counts, levels, smallest, allowed, loss, most);
    node.gather(sums);
    node.value(wanted, totals);
}

// Likewise, for every attribute at every level from `lowest` up to `levels`: how many records are suppressed and what
// they add to what the attribute costs, `dearest` being its part of what a suppressed record costs.
SHOAL_API void shoal_outlook(int64_t rows, int64_t attributes, int64_t smallest, const int32_t *columns,
                             const int64_t *counts, const int64_t *shape, const int32_t *codes, const uint64_t *keys,
                             const double *costs, const int64_t *widths, const int32_t *levels, const int32_t *lowest,
                             const double *dearest, int32_t *before, uint64_t *sums, int64_t *suppressed,
                             double *already, double *excess) {
    auto found = described(rows, attributes, columns, shape, codes, keys, costs, widths, levels, before, sums);
    Node node(rows, std::move(found), counts, levels, smallest, 0, 0.0, 0.0);
    node.gather(sums);
    node.outlook(lowest, dearest, suppressed, already, excess);
}
