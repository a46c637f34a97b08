// Equivalence classes of coded tuples. The readable twins of these functions are in kernels/recoding.py.
#include "shoal.h"

#include <algorithm>
#include <vector>

namespace {

constexpr uint64_t LARGEST = uint64_t(1) << 62;
constexpr uint64_t DENSE = 8; // possible keys per row up to which a table of all keys is used
constexpr int64_t BLOCK = 2048; // rows whose keys stay in the nearest cache while columns are added

// Order rows by key, least significant digit first: stable, so equal keys keep the order of their rows.
class RadixSort {
  public:
    void operator()(std::vector<uint64_t> &keys, std::vector<uint32_t> &order, uint64_t space) {
        const size_t rows = keys.size();
        order.resize(rows);
        for (size_t i = 0; i < rows; ++i) order[i] = static_cast<uint32_t>(i);
        other_keys_.resize(rows), other_order_.resize(rows);
        for (int shift = 0; shift < 64 && (space - 1) >> shift; shift += BITS) {
            size_t starts[BUCKETS] = {0};
            for (uint64_t key : keys) ++starts[key >> shift & (BUCKETS - 1)];
            size_t sum = 0;
            for (size_t &start : starts) {
                const size_t number = start;
                start = sum, sum += number;
            }
            for (size_t i = 0; i < rows; ++i) {
                const size_t place = starts[keys[i] >> shift & (BUCKETS - 1)]++;
                other_keys_[place] = keys[i], other_order_[place] = order[i];
            }
            keys.swap(other_keys_), order.swap(other_order_);
        }
    }

  private:
    static constexpr int BITS = 11;
    static constexpr size_t BUCKETS = size_t(1) << BITS;
    std::vector<uint64_t> other_keys_;
    std::vector<uint32_t> other_order_;
};

// Replace keys by their ranks; return the number of distinct keys.
uint64_t rank(std::vector<uint64_t> &keys, uint64_t space) {
    std::vector<uint64_t> ordered(keys);
    std::vector<uint32_t> order;
    RadixSort()(ordered, order, space);
    uint64_t number = 0;
    for (size_t i = 0; i < order.size(); ++i) {
        if (i > 0 && ordered[i] != ordered[i - 1]) ++number;
        keys[order[i]] = number;
    }
    return number + 1;
}

// One attribute of a key: codes, what replaces them (nothing where null), and the number of values.
struct Field {
    const int32_t *column;
    const int32_t *mapping;
    uint64_t size;

    int32_t code(int64_t row) const { return mapping ? mapping[column[row]] : column[row]; }
};

// One number per row that orders rows as their tuples do.
class Keys {
  public:
    Keys(int64_t rows, const std::vector<Field> &fields) : keys(rows, 0) {
        size_t from = 0;
        for (size_t j = 0; j < fields.size(); ++j) {
            if (space > LARGEST / std::max<uint64_t>(fields[j].size, 1)) {
                add(fields, from, j);
                from = j;
                space = rank(keys, space);
            }
            space *= std::max<uint64_t>(fields[j].size, 1);
        }
        add(fields, from, fields.size());
    }

    std::vector<uint64_t> keys;
    uint64_t space = 1;

  private:
    void add(const std::vector<Field> &fields, size_t from, size_t to) {
        const int64_t rows = static_cast<int64_t>(keys.size());
        for (int64_t block = 0; block < rows; block += BLOCK) {
            const int64_t end = std::min(rows, block + BLOCK);
            for (size_t j = from; j < to; ++j) {
                const Field field = fields[j];
                if (field.size <= 1) continue;
                uint64_t *key = keys.data();
                if (field.mapping)
                    for (int64_t i = block; i < end; ++i) key[i] = key[i] * field.size + field.mapping[field.column[i]];
                else
                    for (int64_t i = block; i < end; ++i) key[i] = key[i] * field.size + field.column[i];
            }
        }
    }
};

// Number the distinct keys in ascending order: write the number of every row to `labels` and the first row of every
// number to `first`; return how many there are.
int64_t number(Keys &keys, int64_t *first, int32_t *labels) {
    const int64_t rows = static_cast<int64_t>(keys.keys.size());
    int64_t found = 0;
    if (keys.space <= DENSE * static_cast<uint64_t>(rows)) {
        thread_local std::vector<int32_t> row;
        row.assign(keys.space, -1);
        for (int64_t i = rows; i-- > 0;) row[keys.keys[i]] = static_cast<int32_t>(i);
        for (int32_t &entry : row)
            if (entry >= 0) {
                first[found] = entry;
                entry = static_cast<int32_t>(found++);
            }
        for (int64_t i = 0; i < rows; ++i) labels[i] = row[keys.keys[i]];
        return found;
    }
    std::vector<uint32_t> order;
    RadixSort()(keys.keys, order, keys.space);
    for (int64_t i = 0; i < rows; ++i) {
        if (i == 0 || keys.keys[i] != keys.keys[i - 1]) first[found++] = order[i];
        labels[order[i]] = static_cast<int32_t>(found - 1);
    }
    return found;
}

} // namespace

// Number the distinct tuples of `columns` (one after the other) in lexicographic order; return how many there are.
SHOAL_API int64_t shoal_group(int64_t rows, int32_t attributes, const int32_t *columns, const int64_t *sizes,
                              int64_t *first, int32_t *labels) {
    std::vector<Field> fields;
    for (int32_t j = 0; j < attributes; ++j) fields.push_back({columns + j * rows, nullptr, uint64_t(sizes[j])});
    Keys keys(rows, fields);
    return number(keys, first, labels);
}

// Map codes and gather rows that agree. `columns` and `counts` hold one column after the other, `maps` one mapping
// after the other; `shape` holds the lengths of the mappings, then the numbers of mapped values. `costs` holds one
// table per leading attribute where `costed`. `numbers` receives the numbers of tuples and of classes.
SHOAL_API void shoal_roll_up(int64_t rows, int32_t attributes, int32_t leading, int32_t kinds, int32_t costed,
                             const int32_t *columns, const int32_t *maps, const int64_t *shape, const int64_t *counts,
                             const double *costs, int32_t *new_columns, int64_t *totals, int64_t *starts, double *cells,
                             int64_t *numbers) {
    std::vector<Field> fields;
    for (int32_t j = 0; j < attributes; ++j) {
        fields.push_back({columns + j * rows, maps, uint64_t(shape[attributes + j])});
        maps += shape[j];
    }
    std::vector<int64_t> first(rows);
    std::vector<int32_t> labels(rows);
    Keys keys(rows, fields);
    const int64_t tuples = number(keys, first.data(), labels.data());
    for (int32_t j = 0; j < attributes; ++j)
        for (int64_t i = 0; i < tuples; ++i) new_columns[j * tuples + i] = fields[j].code(first[i]);
    for (int32_t kind = 0; kind < kinds; ++kind) {
        int64_t *total = totals + kind * tuples;
        const int64_t *count = counts + kind * rows;
        std::fill(total, total + tuples, 0);
        for (int64_t i = 0; i < rows; ++i) total[labels[i]] += count[i];
    }
    int64_t classes = 0;
    for (int64_t i = 0; i < tuples; ++i) {
        bool same = i > 0;
        for (int32_t j = 0; same && j < leading; ++j) same = new_columns[j * tuples + i] == new_columns[j * tuples + i - 1];
        if (!same) starts[classes++] = i;
    }
    if (costed) {
        std::fill(cells, cells + classes, 0.0);
        for (int32_t j = 0; j < leading; ++j, costs += shape[attributes + j - 1])
            for (int64_t c = 0; c < classes; ++c) cells[c] += costs[new_columns[j * tuples + starts[c]]];
    }
    numbers[0] = tuples, numbers[1] = classes;
}
