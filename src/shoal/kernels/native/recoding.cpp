// Equivalence classes of coded tuples. The readable twins of these functions are in kernels/recoding.py and
// kernels/walk.py.
#include "shoal.h"
#include "walk.h"

#include <algorithm>
#include <vector>

namespace {

constexpr uint64_t LARGEST = uint64_t(1) << 62;
constexpr uint64_t DENSE = 8;   // possible keys per row up to which a table of all keys is used
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

// Tuples as numbers that are ordered as the tuples are.
class Keys {
  public:
    Keys(int64_t rows, const std::vector<Field> &fields) : entries(rows) {
        for (int64_t i = 0; i < rows; ++i) entries[i] = {0, static_cast<uint32_t>(i)};
        size_t from = 0;
        for (size_t j = 0; j < fields.size(); ++j) {
            const uint64_t size = std::max<uint64_t>(fields[j].size, 1);
            if (space > LARGEST / size) {
                add(fields, from, j);
                from = j;
                rank();
            }
            space *= size;
        }
        add(fields, from, fields.size());
    }

    std::vector<Entry> entries;
    uint64_t space = 1;
    bool ranked = false;

  private:
    void add(const std::vector<Field> &fields, size_t from, size_t to) {
        const int64_t rows = static_cast<int64_t>(entries.size());
        for (int64_t block = 0; block < rows; block += BLOCK) {
            const int64_t end = std::min(rows, block + BLOCK);
            for (size_t j = from; j < to; ++j) {
                const Field field = fields[j];
                if (field.size <= 1) continue;
                for (int64_t i = block; i < end; ++i)
                    entries[i].key = entries[i].key * field.size + static_cast<uint64_t>(field.code(i));
            }
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
SHOAL_API int64_t shoal_group(int64_t rows, int32_t attributes, const int32_t *columns, const int64_t *sizes,
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
SHOAL_API void shoal_roll_up(int64_t rows, int32_t attributes, int32_t leading, int32_t kinds, int32_t costed,
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

// What the models ask of the proportions of sensitive values, given those of the release.
struct Screen {
    double lower, upper_factor, upper_offset, surplus;
};

constexpr double ROUNDING = 1e-9; // a class is only refused if it fails by more than rounding can explain

} // namespace

// The score of every node, in the order of the walk: the sum over classes of gains[size] * (base - cost), where sizes
// beyond the last entry gain `slope` each; with `best_value`, classes that differ only in their last `target` bits
// count once, with the largest gain among them.
SHOAL_API void shoal_score(int64_t rows, int32_t number, int32_t target, int32_t best_value, int64_t entries,
                           double slope, double base, const uint64_t *keys, const int64_t *counts, const double *costs,
                           const int32_t *steps, const int32_t *shifts, const int32_t *bits, const int64_t *lengths,
                           const int32_t *maps, const double *changes, const double *gains, double *scores) {
    const auto gain = [&](int64_t size) {
        return size < entries ? gains[size] : gains[entries - 1] + slope * static_cast<double>(size - entries + 1);
    };
    shoal::Walk walk(attributes_of(number, steps, shifts, bits, lengths, maps, changes));
    walk.run(
        table_of(rows, keys, counts, costs), [](size_t, size_t) { return true; },
        [&](const std::vector<Row> &table) {
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

// Walk over a box and return how many of its nodes may have a value of at most `best`; write their numbers in the walk
// and a lower bound on their values. A class is lost if it is smaller than `smallest`, or if the proportions of the
// values of the sensitive attribute, the last `target` bits, are not as asked for (`screened`).
SHOAL_API int64_t shoal_screen(int64_t rows, int32_t number, int32_t target, int32_t screened, int64_t smallest,
                               int64_t allowed, double loss, double scale, double best, const double *limits,
                               const uint64_t *keys, const int64_t *counts, const double *costs, const int32_t *steps,
                               const int32_t *shifts, const int32_t *bits, const int64_t *lengths, const int32_t *maps,
                               const double *changes, const double *floors, int64_t *found, double *bounds) {
    const std::vector<Attribute> attributes = attributes_of(number, steps, shifts, bits, lengths, maps, changes);
    std::vector<size_t> floor_of(number, 0), step_of(number, 0);
    std::vector<int64_t> volume(number + 1, 1);
    for (int32_t d = 1; d < number; ++d) floor_of[d] = floor_of[d - 1] + attributes[d - 1].maps.size() + 1;
    for (int32_t d = number; d-- > 0;) volume[d] = volume[d + 1] * static_cast<int64_t>(attributes[d].maps.size() + 1);
    const Screen screen{limits[0], limits[1], limits[2], limits[3]};
    const uint64_t values = uint64_t(1) << target;
    std::vector<int64_t> reference(screened ? values : 0);
    std::vector<double> quota(screened ? values : 0);
    int64_t survivors = 0;
    double floor = 0.0;

    const auto enter = [&](size_t depth, size_t step) {
        step_of[depth] = step;
        floor = 0.0;
        for (int32_t d = 0; d < number; ++d)
            floor += floors[floor_of[d] + (static_cast<size_t>(d) <= depth ? step_of[d] : 0)];
        return floor / scale <= best;
    };
    const auto visit = [&](const std::vector<Row> &table) {
        std::fill(reference.begin(), reference.end(), 0);
        int64_t kept = 0, all = 0;
        double excess = 0.0;
        size_t end;
        for (size_t i = 0; i < table.size(); i = end) {
            int64_t size = 0;
            for (end = i; end < table.size() && table[end].key >> target == table[i].key >> target; ++end)
                size += table[end].count;
            all += size;
            if (size < smallest)
                excess += static_cast<double>(size) * (loss - table[i].cost);
            else {
                kept += size;
                if (screened)
                    for (size_t r = i; r < end; ++r) reference[table[r].key & (values - 1)] += table[r].count;
            }
        }
        int64_t lost = all - kept;
        if (lost > allowed || (floor + excess) / scale > best) return;
        if (screened && kept > 0) {
            int64_t required = 0;
            for (uint64_t v = 0; v < values; ++v) {
                quota[v] = static_cast<double>(reference[v]) / static_cast<double>(kept);
                if (screen.lower * quota[v] > ROUNDING) ++required;
            }
            for (size_t i = 0; i < table.size(); i = end) {
                int64_t size = 0, present = 0;
                for (end = i; end < table.size() && table[end].key >> target == table[i].key >> target; ++end)
                    size += table[end].count;
                if (size < smallest) continue;
                double surplus = 0.0;
                bool good = true;
                for (size_t r = i; good && r < end; ++r) {
                    if (!table[r].count) continue;
                    const double q = quota[table[r].key & (values - 1)];
                    const double p = static_cast<double>(table[r].count) / static_cast<double>(size);
                    good = p <= screen.upper_factor * q + screen.upper_offset + ROUNDING &&
                           p >= screen.lower * q - ROUNDING;
                    surplus += std::max(0.0, p - q);
                    present += screen.lower * q > ROUNDING;
                }
                if (!good || surplus > screen.surplus + ROUNDING || present < required) {
                    lost += size;
                    excess += static_cast<double>(size) * (loss - table[i].cost);
                }
            }
            if (lost > allowed || (floor + excess) / scale > best) return;
        }
        int64_t node = 0;
        for (int32_t d = 0; d < number; ++d) node += volume[d + 1] * static_cast<int64_t>(step_of[d]);
        found[survivors] = node, bounds[survivors++] = (floor + excess) / scale;
    };
    shoal::Walk(attributes).run(table_of(rows, keys, counts, costs), enter, visit);
    return survivors;
}
