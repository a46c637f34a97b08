// Minimal sets of columns on which a record is unique. The readable twin is in kernels/uniques.py.
#include "shoal.h"

#include <algorithm>
#include <memory>
#include <new>
#include <vector>

namespace {

struct Found {
    int32_t row;
    uint64_t set;
    int64_t earlier; // the last set found before this one for the same record, or -1
};

// Walks all sets of columns so that every set comes after all its subsets: a set grows by columns lower than its own.
class Walk {
  public:
    Walk(int64_t records, int32_t columns, int32_t largest, const int32_t *codes, const int32_t *sizes)
        : records_(records), largest_(largest), codes_(codes), latest_(static_cast<size_t>(records), -1) {
        int32_t most = 1;
        for (int32_t c = 0; c < columns; ++c) most = std::max(most, sizes[c]);
        places_.assign(static_cast<size_t>(most), 0);
        levels_.resize(static_cast<size_t>(columns) + 1);
        Level &start = levels_[0];
        start.rows.resize(static_cast<size_t>(records));
        for (int64_t r = 0; r < records; ++r) start.rows[static_cast<size_t>(r)] = static_cast<int32_t>(r);
        start.ends.assign(records ? 1 : 0, records);
        extend(0, 0, columns);
    }

    std::vector<Found> found;

  private:
    // Records that somebody resembles on a set, group by group.
    struct Level {
        std::vector<int32_t> rows;
        std::vector<int64_t> ends;
    };

    void extend(uint64_t set, size_t depth, int32_t below) {
        if (static_cast<int32_t>(depth) >= largest_) return;
        for (int32_t c = 0; c < below; ++c) {
            const uint64_t larger = set | uint64_t{1} << c;
            split(levels_[depth], levels_[depth + 1], c, larger);
            if (!levels_[depth + 1].rows.empty()) extend(larger, depth + 1, c);
        }
    }

    // Split groups by one more column; a record without a value leaves, and so does one that is alone.
    void split(const Level &from, Level &to, int32_t column, uint64_t set) {
        const int32_t *codes = codes_ + static_cast<int64_t>(column) * records_;
        to.rows.resize(from.rows.size());
        to.ends.clear();
        int64_t start = 0, out = 0;
        for (const int64_t end : from.ends) {
            present_.clear();
            for (int64_t i = start; i < end; ++i) {
                const int32_t code = codes[from.rows[static_cast<size_t>(i)]];
                if (code >= 0 && !places_[static_cast<size_t>(code)]++) present_.push_back(code);
            }
            for (const int32_t code : present_) {
                int64_t &place = places_[static_cast<size_t>(code)];
                const int64_t number = place;
                place = number == 1 ? -1 : out;
                if (number == 1) continue;
                out += number;
                to.ends.push_back(out);
            }
            for (int64_t i = start; i < end; ++i) {
                const int32_t row = from.rows[static_cast<size_t>(i)];
                if (codes[row] < 0) continue;
                int64_t &place = places_[static_cast<size_t>(codes[row])];
                if (place < 0)
                    keep_if_minimal(row, set);
                else
                    to.rows[static_cast<size_t>(place++)] = row;
            }
            for (const int32_t code : present_) places_[static_cast<size_t>(code)] = 0;
            start = end;
        }
        to.rows.resize(static_cast<size_t>(out));
    }

    void keep_if_minimal(int32_t row, uint64_t set) {
        int64_t &latest = latest_[static_cast<size_t>(row)];
        for (int64_t i = latest; i >= 0; i = found[static_cast<size_t>(i)].earlier)
            if (!(found[static_cast<size_t>(i)].set & ~set)) return;
        found.push_back({row, set, latest});
        latest = static_cast<int64_t>(found.size()) - 1;
    }

    int64_t records_;
    int32_t largest_;
    const int32_t *codes_;
    std::vector<int64_t> latest_, places_;
    std::vector<int32_t> present_;
    std::vector<Level> levels_;
};

} // namespace

// Find all minimal sets of at most `largest` columns on which a record is unique. Codes stand column by column, below
// sizes[column]; a negative one is a missing value. Return what `shoal_take_unique_sets` takes, or 0 for want of
// memory.
SHOAL_API int64_t shoal_unique_sets(int64_t records, int64_t columns, int64_t largest, const int32_t *codes,
                                    const int32_t *sizes, int64_t *number) try {
    Walk walk(records, columns, largest, codes, sizes);
    auto found = std::make_unique<std::vector<Found>>(std::move(walk.found));
    *number = static_cast<int64_t>(found->size());
    return reinterpret_cast<int64_t>(found.release());
} catch (const std::bad_alloc &) {
    return 0;
}

// Write the records and sets that `shoal_unique_sets` found, and forget them.
SHOAL_API void shoal_take_unique_sets(int64_t taken, int64_t *rows, uint64_t *sets) {
    const std::unique_ptr<std::vector<Found>> found(reinterpret_cast<std::vector<Found> *>(taken));
    for (const Found &each : *found) *rows++ = each.row, *sets++ = each.set;
}
