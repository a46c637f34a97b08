// Top-down partition of tuples into regions of at least k records. The readable twin, which gives the same regions, is
// kernels/partition.py; what is computed is explained there.
#include "shoal.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <vector>

namespace {

constexpr double LEAST_GAIN = 1e-9; // records; below it a split gains nothing but rounding errors
constexpr int64_t MANY = 50;        // records that are too many to borrow tuple by tuple

// How the values of an attribute are covered by one released value, and what that costs a record.
struct Cover {
    bool ordered;
    int32_t levels;
    int64_t size;
    const int32_t *codes; // codes[level * size + leaf]
    const double *costs;  // costs[level * size + leaf]; of an ordered attribute the position of the leaf

    // The lowest level at which two leaves, and so all between them, have one value.
    int32_t level(int32_t low, int32_t high) const {
        int32_t level = 0;
        while (codes[level * size + low] != codes[level * size + high]) ++level;
        return level;
    }
    double cost(int32_t low, int32_t high) const {
        return ordered ? costs[high] - costs[low] : costs[level(low, high) * size + low];
    }
};

struct Table {
    int64_t rows;
    int32_t attributes;
    const int32_t *columns;
    const int64_t *counts;
    std::vector<Cover> covers;

    int32_t code(int32_t row, int32_t j) const { return columns[j * rows + row]; }
};

struct Region {
    std::vector<int32_t> members;
    int64_t weight = 0;
    std::vector<int32_t> low, high;
    double cost = 0.0; // of one record

    void fit(const Table &table) {
        weight = 0, cost = 0.0;
        low.assign(table.attributes, std::numeric_limits<int32_t>::max());
        high.assign(table.attributes, -1);
        for (int32_t row : members) {
            weight += table.counts[row];
            for (int32_t j = 0; j < table.attributes; ++j) {
                const int32_t code = table.code(row, j);
                if (code < low[j]) low[j] = code;
                if (code > high[j]) high[j] = code;
            }
        }
        if (members.empty()) return;
        for (int32_t j = 0; j < table.attributes; ++j) cost += table.covers[j].cost(low[j], high[j]);
    }
    double cost_with(const Table &table, int32_t row) const {
        double sum = 0.0;
        for (int32_t j = 0; j < table.attributes; ++j) {
            const int32_t code = table.code(row, j);
            sum += table.covers[j].cost(std::min(low[j], code), std::max(high[j], code));
        }
        return sum;
    }
    bool holds(const Table &table, int32_t row) const {
        for (int32_t j = 0; j < table.attributes; ++j)
            if (table.code(row, j) < low[j] || table.code(row, j) > high[j]) return false;
        return true;
    }
    double total() const { return static_cast<double>(weight) * cost; }
};

using Parts = std::vector<Region>;

class Partition {
  public:
    Partition(const Table &table, int64_t smallest, int64_t window, bool stay, bool borrow, const double *limits)
        : table_(table), smallest_(smallest), window_(window), stay_(stay), borrow_(borrow), foresight_(limits[0]),
          work_(limits[1]), foresight_seconds_(limits[2]), seconds_(limits[3]) {}

    // Cells looked at so far.
    double work() const { return static_cast<double>(looks_) * table_.attributes; }

    // Write the region of every row and the parent of every region; return the number of regions.
    int32_t run(int32_t *labels, int32_t *parents) {
        // what is split with foresight comes last: should time run out, no large region is left
        std::vector<std::pair<Region, int32_t>> large(1), small;
        for (int64_t row = 0; row < table_.rows; ++row) large[0].first.members.push_back(static_cast<int32_t>(row));
        large[0].first.fit(table_);
        int32_t number = 1;
        large[0].second = 0, parents[0] = -1;
        while (!large.empty() || !small.empty()) {
            auto &waiting = large.empty() ? small : large;
            const auto [region, own] = std::move(waiting.back());
            waiting.pop_back();
            Parts parts = parts_of(region);
            if (parts.empty())
                for (int32_t row : region.members) labels[row] = own;
            for (Region &part : parts) {
                parents[number] = own;
                (part.weight <= window_ ? small : large).emplace_back(std::move(part), number++);
            }
        }
        return number;
    }

  private:
    double elapsed() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

    Parts parts_of(const Region &region) const {
        if (work() >= work_ || elapsed() >= seconds_) return {};
        return region.weight <= window_ && foresees() ? foresighted(region) : greedy(region);
    }

    bool foresees() const { return work() < foresight_ && elapsed() < foresight_seconds_; }

    // The split that gains most per square root of its information; empty if none gains.
    Parts greedy(const Region &region) const {
        Parts best;
        double highest = 0.0;
        if (region.weight < 2 * smallest_) return best;
        for (int32_t j = 0; j < table_.attributes; ++j) {
            Parts parts = split(region, j);
            if (parts.empty()) continue;
            double gain = region.total(), information = 0.0;
            for (const Region &part : parts) {
                gain -= part.total();
                const double weight = static_cast<double>(part.weight);
                information -= weight * std::log(weight / static_cast<double>(region.weight));
            }
            const double score = gain / std::sqrt(information);
            if (gain > LEAST_GAIN && score > highest) highest = score, best = std::move(parts);
        }
        return best;
    }

    // The split after which going on greedily ends best; empty if that gains nothing.
    Parts foresighted(const Region &region) const {
        Parts best;
        double lowest = region.total() - LEAST_GAIN;
        if (region.weight < 2 * smallest_) return best;
        for (int32_t j = 0; j < table_.attributes; ++j) {
            // with hundreds of attributes one region may take minutes
            if (!foresees()) return greedy(region);
            Parts parts = split(region, j);
            if (parts.empty()) continue;
            double sum = 0.0;
            for (const Region &part : parts) sum += outcome(part);
            if (sum < lowest) lowest = sum, best = std::move(parts);
        }
        return best;
    }

    // What the region costs after it was split greedily to the end.
    double outcome(const Region &region) const {
        const Parts parts = greedy(region);
        if (parts.empty()) return region.total();
        double sum = 0.0;
        for (const Region &part : parts) sum += outcome(part);
        return sum;
    }

    Parts split(const Region &region, int32_t j) const {
        if (region.low[j] == region.high[j]) return {};
        looks_ += static_cast<int64_t>(region.members.size());
        return table_.covers[j].ordered ? halves(region, j) : children(region, j);
    }

    // Cut between two values so that the halves are as equal as can be, both large enough.
    Parts halves(const Region &region, int32_t j) const {
        const int32_t low = region.low[j];
        std::vector<int64_t> weights(region.high[j] - low + 1, 0);
        for (int32_t row : region.members) weights[table_.code(row, j) - low] += table_.counts[row];
        int64_t left = 0, least = std::numeric_limits<int64_t>::max();
        int32_t cut = -1;
        for (size_t value = 0; value + 1 < weights.size(); ++value) {
            left += weights[value];
            const int64_t right = region.weight - left, difference = left > right ? left - right : right - left;
            if (left >= smallest_ && right >= smallest_ && difference < least)
                least = difference, cut = low + static_cast<int32_t>(value);
        }
        if (cut < 0) return {};
        Parts parts(2);
        for (int32_t row : region.members) parts[table_.code(row, j) > cut].members.push_back(row);
        for (Region &part : parts) part.fit(table_);
        return parts;
    }

    // One part per child that is large enough; what is left stays at the value of the region.
    Parts children(const Region &region, int32_t j) const {
        const Cover &cover = table_.covers[j];
        const int32_t *codes = cover.codes + (cover.level(region.low[j], region.high[j]) - 1) * cover.size;
        const int32_t first = codes[region.low[j]];
        Parts parts(codes[region.high[j]] - first + 1);
        for (int32_t row : region.members) parts[codes[table_.code(row, j)] - first].members.push_back(row);
        Region rest;
        size_t large = 0;
        for (size_t p = 0; p < parts.size(); ++p) {
            int64_t weight = 0;
            for (int32_t row : parts[p].members) weight += table_.counts[row];
            if (weight >= smallest_) {
                if (p != large) parts[large] = std::move(parts[p]);
                ++large;
            } else {
                rest.members.insert(rest.members.end(), parts[p].members.begin(), parts[p].members.end());
            }
        }
        parts.resize(large);
        if (parts.empty() || (!rest.members.empty() && !stay_)) return {};
        for (Region &part : parts) part.fit(table_);
        if (rest.members.empty()) return parts;
        rest.fit(table_);
        if (borrow_) borrow(parts, rest);
        if (rest.weight < smallest_) {
            const auto least = std::min_element(parts.begin(), parts.end(), [](const Region &a, const Region &b) {
                return a.weight < b.weight;
            });
            rest.members.insert(rest.members.end(), least->members.begin(), least->members.end());
            parts.erase(least);
            rest.fit(table_);
        }
        if (parts.empty()) return {};
        std::sort(rest.members.begin(), rest.members.end());
        parts.push_back(std::move(rest));
        return parts;
    }

    // Fill the rest up with the tuples that fit it best, of parts that can spare them. Where many are missing,
    // with each of them come those that then fit for nothing.
    void borrow(Parts &parts, Region &rest) const {
        while (rest.weight < smallest_) {
            double least = std::numeric_limits<double>::infinity();
            Region *from = nullptr;
            size_t place = 0;
            for (Region &part : parts) {
                looks_ += static_cast<int64_t>(part.members.size());
                for (size_t i = 0; i < part.members.size(); ++i) {
                    const int32_t row = part.members[i];
                    if (part.weight - table_.counts[row] < smallest_) continue;
                    const double cost =
                        static_cast<double>(rest.weight + table_.counts[row]) * rest.cost_with(table_, row);
                    if (cost < least) least = cost, from = &part, place = i;
                }
            }
            if (!from) return;
            rest.members.push_back(from->members[place]);
            from->members.erase(from->members.begin() + static_cast<std::ptrdiff_t>(place));
            from->fit(table_);
            rest.fit(table_);
            if (smallest_ > MANY)
                for (Region &part : parts) move_fitting(part, rest);
        }
    }

    void move_fitting(Region &part, Region &rest) const {
        size_t kept = 0;
        for (size_t i = 0; i < part.members.size(); ++i) {
            const int32_t row = part.members[i];
            const int64_t count = table_.counts[row];
            if (rest.weight < smallest_ && part.weight - count >= smallest_ && rest.holds(table_, row)) {
                rest.members.push_back(row);
                rest.weight += count, part.weight -= count;
            } else {
                part.members[kept++] = row;
            }
        }
        if (kept < part.members.size()) {
            part.members.resize(kept);
            part.fit(table_);
        }
    }

    const Table &table_;
    const int64_t smallest_, window_;
    const bool stay_, borrow_;
    // work, and seconds, after which there is no more foresight, and after which nothing is split
    const double foresight_, work_, foresight_seconds_, seconds_;
    mutable int64_t looks_ = 0; // at tuples, each of which has as many cells as there are attributes
    const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

} // namespace

// `columns` holds one column after the other; `shape` per attribute whether it is ordered, its levels and its leaves;
// `codes` and `costs` one cover after the other. There are fewer than twice as many regions as rows. `limits` are the
// work and the seconds of Splitting; `work` is what was done.
SHOAL_API int64_t shoal_regions_of_tuples(int64_t rows, int64_t attributes, int64_t smallest, int64_t window, int64_t stay,
                                  int64_t borrow, const int32_t *columns, const int64_t *counts, const int64_t *shape,
                                  const int32_t *codes, const double *costs, const double *limits, int32_t *labels,
                                  int32_t *parents, double *work) {
    Table table{rows, static_cast<int32_t>(attributes), columns, counts, {}};
    for (int32_t j = 0; j < attributes; ++j, shape += 3) {
        table.covers.push_back({shape[0] != 0, static_cast<int32_t>(shape[1]), shape[2], codes, costs});
        codes += shape[1] * shape[2], costs += shape[1] * shape[2];
    }
    Partition partition(table, smallest, window, stay != 0, borrow != 0, limits);
    const int64_t regions = partition.run(labels, parents);
    *work = partition.work();
    return regions;
}
