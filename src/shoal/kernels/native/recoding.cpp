// Equivalence classes of coded tuples. The readable twins of these functions are in kernels/recoding.py and
// kernels/walk.py.
#include "shoal.h"
#include "walk.h"

#include <algorithm>
#include <vector>

namespace {

constexpr uint64_t LARGEST = uint64_t(1) << 62;
constexpr uint64_t DENSE = 4;   // possible keys per row up to which a table of all keys is used
constexpr int64_t BLOCK = 2048; // rows whose keys stay in the nearest cache while columns are added
constexpr size_t FEW = 512;     // entries up to which comparing is faster than counting digits

struct Entry {
    uint64_t key;
    uint32_t row;
    bool operator<(const Entry &other) const { return key < other.key; }
};

// One attribute of a key: codes, what replaces them (nothing where null), and the number of values.
struct Field {
    const int32_t *column;
    const int32_t *mapping;
    uint64_t size;

    int32_t code(int64_t row) const { return mapping ? mapping[column[row]] : column[row]; }
};

// Order entries by key, least significant digit first: stable, so equal keys keep the order of their rows.
void radix_sort(Entry *entries, size_t number, uint64_t space) {
    constexpr int BITS = 11;
    constexpr size_t BUCKETS = size_t(1) << BITS;
    std::vector<Entry> other(number);
    Entry *from = entries, *to = other.data();
    for (int shift = 0; shift < 64 && (space - 1) >> shift; shift += BITS) {
        size_t starts[BUCKETS] = {0};
        for (size_t i = 0; i < number; ++i) ++starts[from[i].key >> shift & (BUCKETS - 1)];
        size_t sum = 0;
        for (size_t &start : starts) {
            const size_t here = start;
            start = sum, sum += here;
        }
        for (size_t i = 0; i < number; ++i) to[starts[from[i].key >> shift & (BUCKETS - 1)]++] = from[i];
        std::swap(from, to);
    }
    if (from != entries) std::copy(from, from + number, entries);
}

// Add one attribute to numbers that order rows as their tuples do.
template <class Key>
SHOAL_CLONES void add_field(Key *keys, const int32_t *column, const int32_t *mapping, Key size, int64_t rows) {
    if (mapping)
        for (int64_t i = 0; i < rows; ++i) keys[i] = keys[i] * size + static_cast<Key>(mapping[column[i]]);
    else
        for (int64_t i = 0; i < rows; ++i) keys[i] = keys[i] * size + static_cast<Key>(column[i]);
}

// Tuples as numbers that are ordered as the tuples are.
class Keys {
  public:
    Keys(int64_t rows, const std::vector<Field> &fields) : entries(rows) {
        for (int64_t i = 0; i < rows; ++i) entries[i] = {0, static_cast<uint32_t>(i)};
        size_t from = 0;
        for (size_t j = 0; j < fields.size(); ++j) {
            const uint64_t size = std::max<uint64_t>(fields[j].size, 1);
            if (space > LARGEST / size) {
                add<uint64_t>(fields, from, j);
                from = j;
                rank();
            }
            space *= size;
        }
        if (space >> 32)
            add<uint64_t>(fields, from, fields.size());
        else
            add<uint32_t>(fields, from, fields.size());
    }

    std::vector<Entry> entries;
    uint64_t space = 1;
    bool ranked = false;

  private:
    template <class Key> void add(const std::vector<Field> &fields, size_t from, size_t to) {
        const int64_t rows = static_cast<int64_t>(entries.size());
        Key keys[BLOCK];
        for (int64_t block = 0; block < rows; block += BLOCK) {
            const int64_t number = std::min(rows - block, BLOCK);
            for (int64_t i = 0; i < number; ++i) keys[i] = static_cast<Key>(entries[block + i].key);
            for (size_t j = from; j < to; ++j)
                if (fields[j].size > 1)
                    add_field(keys, fields[j].column + block, fields[j].mapping, static_cast<Key>(fields[j].size), number);
            for (int64_t i = 0; i < number; ++i) entries[block + i].key = keys[i];
        }
    }

    // Replace the keys so far by their ranks: they leave room for more attributes.
    void rank() {
        ranked = true;
        std::vector<Entry> ordered(entries);
        radix_sort(ordered.data(), ordered.size(), space);
        uint64_t number = 0;
        for (size_t i = 0; i < ordered.size(); ++i) {
            if (i > 0 && ordered[i].key != ordered[i - 1].key) ++number;
            entries[ordered[i].row].key = number;
        }
        space = number + 1;
    }
};

// Sort by counting, where the possible keys are few; equal keys keep their order.
void counting_sort(Keys &keys) {
    std::vector<uint32_t> starts(keys.space + 1, 0);
    for (const Entry &entry : keys.entries) ++starts[entry.key + 1];
    for (uint64_t key = 0; key < keys.space; ++key) starts[key + 1] += starts[key];
    std::vector<Entry> ordered(keys.entries.size());
    for (const Entry &entry : keys.entries) ordered[starts[entry.key]++] = entry;
    keys.entries.swap(ordered);
}

// Rows come in lexicographic order and no mapping turns that of an attribute around. So they stay in order up to and
// including the first attribute that changes; what agrees so far, `span` keys apart at most, has to be sorted.
void sort_spans(Keys &keys, uint64_t span) {
    std::vector<Entry> &entries = keys.entries;
    const size_t rows = entries.size();
    for (size_t start = 0, end; start < rows; start = end) {
        const uint64_t least = entries[start].key / span * span, limit = least + span;
        bool ordered = true;
        for (end = start + 1; end < rows && entries[end].key < limit; ++end) {
            if (entries[end].key < least) return radix_sort(entries.data(), rows, keys.space);
            ordered = ordered && entries[end - 1].key <= entries[end].key;
        }
        if (ordered) continue;
        if (end - start <= FEW)
            std::sort(entries.begin() + start, entries.begin() + end);
        else
            radix_sort(entries.data() + start, end - start, keys.space);
    }
}

// The number of keys that agree on all attributes up to and including the first one that a mapping changes.
uint64_t span_of(const Keys &keys, const std::vector<Field> &fields, const int64_t *lengths) {
    uint64_t span = keys.space;
    for (size_t j = 0; j < fields.size(); ++j) {
        span /= std::max<uint64_t>(fields[j].size, 1);
        bool same = static_cast<uint64_t>(lengths[j]) == fields[j].size;
        for (int64_t code = 0; same && code < lengths[j]; ++code) same = fields[j].mapping[code] == code;
        if (!same) break;
    }
    return span;
}

} // namespace

// Number the distinct tuples of `columns` (one after the other) in lexicographic order: write the number of every row
// to `labels` and the first row of every number to `first`; return how many there are.
SHOAL_API int64_t shoal_group(int64_t rows, int64_t attributes, const int32_t *columns, const int64_t *sizes,
                              int64_t *first, int32_t *labels) {
    std::vector<Field> fields;
    for (int32_t j = 0; j < attributes; ++j) fields.push_back({columns + j * rows, nullptr, uint64_t(sizes[j])});
    Keys keys(rows, fields);
    int64_t found = 0;
    if (keys.space <= DENSE * static_cast<uint64_t>(rows)) {
        std::vector<int32_t> row(keys.space, -1);
        for (int64_t i = rows; i-- > 0;) row[keys.entries[i].key] = static_cast<int32_t>(i);
        for (int32_t &entry : row)
            if (entry >= 0) {
                first[found] = entry;
                entry = static_cast<int32_t>(found++);
            }
        for (int64_t i = 0; i < rows; ++i) labels[i] = row[keys.entries[i].key];
        return found;
    }
    radix_sort(keys.entries.data(), rows, keys.space);
    for (int64_t i = 0; i < rows; ++i) {
        const Entry &entry = keys.entries[i];
        if (i == 0 || entry.key != keys.entries[i - 1].key) first[found++] = entry.row;
        labels[entry.row] = static_cast<int32_t>(found - 1);
    }
    return found;
}

// Map codes and gather rows that agree. `columns` and `counts` hold one column after the other, `maps` one mapping
// after the other; `shape` holds the lengths of the mappings, then the numbers of mapped values. `costs` holds one
// table per leading attribute where `costed`. `numbers` receives the numbers of tuples and of classes; what is written
// for the tuples, and then for the classes, is packed.
SHOAL_API void shoal_roll_up(int64_t rows, int64_t attributes, int64_t leading, int64_t kinds, int64_t costed,
                             const int32_t *columns, const int32_t *maps, const int64_t *shape, const int64_t *counts,
                             const double *costs, int32_t *new_columns, int64_t *totals, int64_t *starts,
                             int64_t *sizes, double *cells, int64_t *numbers) {
    std::vector<Field> fields;
    for (int32_t j = 0; j < attributes; ++j) {
        fields.push_back({columns + j * rows, maps, uint64_t(shape[attributes + j])});
        maps += shape[j];
    }
    Keys keys(rows, fields);
    if (keys.ranked)
        radix_sort(keys.entries.data(), rows, keys.space);
    else if (keys.space <= DENSE * static_cast<uint64_t>(rows))
        counting_sort(keys);
    else
        sort_spans(keys, span_of(keys, fields, shape));
    std::vector<int64_t> ends;
    const std::vector<Entry> &entries = keys.entries;
    for (int64_t i = 1; i <= rows; ++i)
        if (i == rows || entries[i].key != entries[i - 1].key) ends.push_back(i);
    const int64_t tuples = static_cast<int64_t>(ends.size());
    for (int32_t j = 0; j < attributes; ++j)
        for (int64_t i = 0; i < tuples; ++i) new_columns[j * tuples + i] = fields[j].code(entries[ends[i] - 1].row);
    for (int32_t kind = 0; kind < kinds; ++kind) {
        const int64_t *count = counts + kind * rows;
        for (int64_t i = 0, row = 0; i < tuples; ++i) {
            int64_t total = 0;
            for (; row < ends[i]; ++row) total += count[entries[row].row];
            totals[kind * tuples + i] = total;
        }
    }
    int64_t classes = 0;
    for (int64_t i = 0; i < tuples; ++i) {
        bool same = i > 0;
        for (int32_t j = leading; same && j-- > 0;)
            same = new_columns[j * tuples + i] == new_columns[j * tuples + i - 1];
        if (!same) starts[classes++] = i;
    }
    for (int32_t kind = 0; kind < kinds; ++kind)
        for (int64_t c = 0; c < classes; ++c) {
            int64_t size = 0;
            for (int64_t i = starts[c]; i < (c + 1 < classes ? starts[c + 1] : tuples); ++i)
                size += totals[kind * tuples + i];
            sizes[kind * classes + c] = size;
        }
    if (costed) {
        std::fill(cells, cells + classes, 0.0);
        for (int32_t j = 0; j < leading; ++j, costs += shape[attributes + j - 1])
            for (int64_t c = 0; c < classes; ++c) cells[c] += costs[new_columns[j * tuples + starts[c]]];
    }
    numbers[0] = tuples, numbers[1] = classes;
}

// Copy the codes and counts of the chosen classes and return how many there are; tuples without records are left out.
SHOAL_API int64_t shoal_choose(int64_t classes, int64_t tuples, const int64_t *starts, const uint8_t *chosen,
                               const int32_t *codes, const int64_t *counts, int64_t *offsets, int32_t *new_codes,
                               int64_t *new_counts) {
    int64_t copied = 0, number = 0;
    offsets[0] = 0;
    for (int64_t c = 0; c < classes; ++c) {
        if (!chosen[c]) continue;
        for (int64_t i = starts[c]; i < (c + 1 < classes ? starts[c + 1] : tuples); ++i)
            if (counts[i] > 0) new_codes[copied] = codes[i], new_counts[copied++] = counts[i];
        offsets[++number] = copied;
    }
    return copied;
}

namespace {

using shoal::Attribute;
using shoal::attributes_of;
using shoal::Row;
using shoal::table_of;

// The scores of all steps of the last attributes, whose fields are narrow: rows that differ in these alone stand together,
// and are counted in a small array for every combination of steps, without the tables that the steps would make.
constexpr uint64_t MOST_CELLS = 256;
class NarrowSteps {
  public:
    NarrowSteps(const std::vector<Attribute> &attributes, double base) : base_(base) {
        for (const Attribute &each : attributes) cells_ *= static_cast<size_t>(each.mask) + 1;
        nodes_.resize(1);
        add(attributes, 0, 0);
        sums_.resize(nodes_.size());
        for (Node &node : nodes_) node.counts.assign(cells_, 0), node.costs.resize(cells_), node.taken.resize(cells_ + 1);
    }

    // Write one score per combination of steps, and return where the next ones go.
    template <class Gain> double *score(const std::vector<Row> &table, const Gain gain, double *scores) {
        std::fill(sums_.begin(), sums_.end(), 0.0);
        const uint64_t narrow = cells_ - 1;
        for (size_t start = 0, end; start < table.size(); start = end) {
            const uint64_t prefix = table[start].key & ~narrow;
            for (end = start + 1; end < table.size() && (table[end].key & ~narrow) == prefix; ++end) {}
            if (end == start + 1)
                alone(table[start], gain(table[start].count));
            else
                together(&table[start], end - start, gain);
        }
        return std::copy(sums_.begin(), sums_.end(), scores);
    }

  private:
    // A combination of steps: the one that it is one step above, and what that step makes of each cell and adds to its cost.
    struct Node {
        size_t below = 0;
        std::vector<uint32_t> map;
        std::vector<double> change;
        std::vector<int64_t> counts;
        std::vector<double> costs;
        std::vector<uint32_t> taken; // the cells that have records
        size_t size = 0;             // and how many
    };

    // Add the nodes of all attributes from `depth` on, in the order of the walk, above the node `at`.
    void add(const std::vector<Attribute> &attributes, size_t depth, size_t at) {
        if (depth == attributes.size()) return;
        const Attribute &attribute = attributes[depth];
        const uint64_t field = attribute.mask << attribute.shift;
        for (size_t step = 0;; ++step) {
            add(attributes, depth + 1, at);
            if (step == attribute.maps.size()) return;
            Node node;
            node.below = at;
            node.map.resize(cells_), node.change.resize(cells_);
            for (uint64_t cell = 0; cell < cells_; ++cell) {
                const uint64_t code = (cell & field) >> attribute.shift;
                // a field may have room for codes that there are none of
                if (code >= attribute.sizes[step]) continue;
                node.map[cell] = static_cast<uint32_t>((cell & ~field) | static_cast<uint64_t>(attribute.maps[step][code]) << attribute.shift);
                node.change[cell] = attribute.changes[step][code];
            }
            at = nodes_.size();
            nodes_.push_back(std::move(node));
        }
    }

    void alone(const Row &row, double gained) {
        nodes_[0].taken[0] = static_cast<uint32_t>(row.key & (cells_ - 1));
        nodes_[0].costs[0] = row.cost;
        sums_[0] += gained * (base_ - row.cost);
        for (size_t i = 1; i < nodes_.size(); ++i) {
            Node &node = nodes_[i];
            const Node &below = nodes_[node.below];
            const uint32_t cell = below.taken[0];
            node.taken[0] = node.map[cell];
            node.costs[0] = below.costs[0] + node.change[cell];
            sums_[i] += gained * (base_ - node.costs[0]);
        }
    }

    template <class Gain> void together(const Row *rows, size_t number, const Gain gain) {
        Node &lowest = nodes_[0];
        double sum = 0.0;
        for (size_t r = 0; r < number; ++r) {
            const auto cell = static_cast<uint32_t>(rows[r].key & (cells_ - 1));
            lowest.taken[r] = cell, lowest.counts[cell] = rows[r].count, lowest.costs[cell] = rows[r].cost;
            sum += gain(rows[r].count) * (base_ - rows[r].cost);
        }
        lowest.size = number;
        sums_[0] += sum;
        for (size_t i = 1; i < nodes_.size(); ++i) sums_[i] += rolled_up(nodes_[nodes_[i].below], nodes_[i], gain, base_);
        for (Node &node : nodes_)
            for (size_t t = 0; t < node.size; ++t) node.counts[node.taken[t]] = 0;
    }

    template <class Gain> static double rolled_up(const Node &below, Node &node, const Gain gain, const double base) {
        const uint32_t *from = below.taken.data(), *map = node.map.data();
        const int64_t *counted = below.counts.data();
        const double *costed = below.costs.data(), *change = node.change.data();
        uint32_t *taken = node.taken.data();
        int64_t *counts = node.counts.data();
        double *costs = node.costs.data();
        size_t size = 0;
        for (size_t t = 0, end = below.size; t < end; ++t) {
            const uint32_t cell = from[t], to = map[cell];
            taken[size] = to;
            size += counts[to] == 0;
            counts[to] += counted[cell];
            costs[to] = costed[cell] + change[cell];
        }
        node.size = size;
        double sum = 0.0;
        for (size_t t = 0; t < size; ++t) sum += gain(counts[taken[t]]) * (base - costs[taken[t]]);
        return sum;
    }

    const double base_;
    size_t cells_ = 1;
    std::vector<Node> nodes_;
    std::vector<double> sums_;
};

} // namespace

// The score of every node, in the order of the walk: the sum over classes of gains[size] * (base - cost), where sizes
// beyond the last entry gain `slope` each; with `best_value`, classes that differ only in their last `target` bits
// count once, with the largest gain among them.
SHOAL_API void shoal_score(int64_t rows, int64_t number, int64_t target, int64_t best_value, int64_t entries,
                           double slope, double base, const uint64_t *keys, const int64_t *counts, const double *costs,
                           const int32_t *steps, const int32_t *shifts, const int32_t *bits, const int64_t *lengths,
                           const int32_t *maps, const double *changes, const double *gains, double *scores) {
    const auto gain = [=](int64_t size) {
        return size < entries ? gains[size] : gains[entries - 1] + slope * static_cast<double>(size - entries + 1);
    };
    std::vector<Attribute> attributes = attributes_of(number, steps, shifts, bits, lengths, maps, changes);
    const auto all = [](size_t, size_t) { return true; };
    if (!target) {
        std::vector<Attribute> narrow;
        for (uint64_t cells = 1; !attributes.empty() && attributes.back().mask < MOST_CELLS / cells; attributes.pop_back()) {
            cells *= attributes.back().mask + 1;
            narrow.insert(narrow.begin(), attributes.back());
        }
        NarrowSteps last(narrow, base);
        shoal::Walk(std::move(attributes)).run(table_of(rows, keys, counts, costs), all, [&](const std::vector<Row> &table) {
            scores = last.score(table, gain, scores);
        });
        return;
    }
    shoal::Walk(std::move(attributes)).run(table_of(rows, keys, counts, costs), all, [&](const std::vector<Row> &table) {
        double score = 0.0;
        for (size_t i = 0, end; i < table.size(); i = end) {
            double best = gain(table[i].count);
            for (end = i + 1; best_value && end < table.size() && table[end].key >> target == table[i].key >> target; ++end)
                best = std::max(best, gain(table[end].count));
            score += best * (base - table[i].cost);
        }
        *scores++ = score;
    });
}
