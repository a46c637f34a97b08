// Equivalence classes of coded tuples. The readable twins of these functions are in kernels/recoding.py and
// kernels/scores.py.
#include "shoal.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace {

constexpr uint64_t LARGEST = uint64_t(1) << 62;
constexpr uint64_t DENSE = 16; // keys per row up to which a table of all keys is used

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

void add_column(std::vector<uint64_t> &keys, const int32_t *column, const int32_t *mapping, uint64_t size, bool first) {
    const size_t rows = keys.size();
    if (first)
        for (size_t i = 0; i < rows; ++i) keys[i] = static_cast<uint64_t>(mapping[column[i]]);
    else
        for (size_t i = 0; i < rows; ++i) keys[i] = keys[i] * size + static_cast<uint64_t>(mapping[column[i]]);
}

int64_t dense(const std::vector<uint64_t> &keys, uint64_t space, const int64_t *counts, int64_t *first,
              int64_t *totals, int32_t *labels) {
    std::vector<int32_t> row(space, -1);
    std::vector<int64_t> total(space, 0);
    for (size_t i = 0; i < keys.size(); ++i) {
        total[keys[i]] += counts[i];
        if (row[keys[i]] < 0) row[keys[i]] = static_cast<int32_t>(i);
    }
    int64_t number = 0;
    for (uint64_t key = 0; key < space; ++key)
        if (row[key] >= 0) {
            first[number] = row[key], totals[number] = total[key];
            row[key] = static_cast<int32_t>(number++);
        }
    if (labels)
        for (size_t i = 0; i < keys.size(); ++i) labels[i] = row[keys[i]];
    return number;
}

int64_t sorted(std::vector<uint64_t> &keys, uint64_t space, const int64_t *counts, int64_t *first, int64_t *totals,
               int32_t *labels) {
    std::vector<uint32_t> order;
    RadixSort()(keys, order, space);
    int64_t number = -1;
    for (size_t i = 0; i < order.size(); ++i) {
        if (i == 0 || keys[i] != keys[i - 1]) {
            ++number;
            first[number] = order[i], totals[number] = 0;
        }
        totals[number] += counts[order[i]];
        if (labels) labels[order[i]] = static_cast<int32_t>(number);
    }
    return number + 1;
}

} // namespace

// Number the distinct tuples of mapped codes in lexicographic order and return how many there are. `columns` holds one
// column after the other; `maps` one mapping after the other, of the given lengths, with values below the given sizes.
// `first` and `totals` have room for one entry per row, `labels` as well or it is null.
SHOAL_API int64_t shoal_group(int64_t rows, int32_t attributes, const int32_t *columns, const int32_t *maps,
                              const int64_t *lengths, const int64_t *sizes, const int64_t *counts, int64_t *first,
                              int64_t *totals, int32_t *labels) {
    std::vector<uint64_t> keys(rows, 0);
    uint64_t space = 1;
    for (int32_t j = 0; j < attributes; ++j, columns += rows, maps += lengths[j - 1]) {
        const uint64_t size = static_cast<uint64_t>(sizes[j]);
        if (size <= 1) continue;
        if (space > LARGEST / size) space = rank(keys, space);
        add_column(keys, columns, maps, size, space == 1);
        space *= size;
    }
    return space <= DENSE * static_cast<uint64_t>(rows) ? dense(keys, space, counts, first, totals, labels)
                                                        : sorted(keys, space, counts, first, totals, labels);
}
