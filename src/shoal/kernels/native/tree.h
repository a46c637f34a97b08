// A tree over records that answers "which is farthest" and "which k are nearest" as a plain scan does, bit for bit.
//
// Points stand in blocks of 16; sixteen blocks stand in a group with their bounding boxes, sixteen groups stand in a
// group, and so on. Whole branches are skipped when a bound says that they cannot hold an answer; what is left is
// compared by (squared distance, row), so the answer does not depend on the tree. Squared distances are summed attribute
// by attribute and need -ffp-contract=off: a fused multiply-add rounds differently from NumPy.
#pragma once
#include "shoal.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace shoal {

constexpr int W = 16;
constexpr double INF = std::numeric_limits<double>::infinity();
constexpr double NONE = std::numeric_limits<double>::quiet_NaN(); // an empty lane: every comparison with it is false
// Rounding of the farthest bound is below (m + 5) * sqrt(m) * 2^-53 of its terms: 1e-9 is enough for m <= 4,000.
constexpr double MARGIN = 1e-9;
constexpr double TINY = 1e-300;

// Eight doubles, lowered by the compiler to what the machine has; spelt out because the loop vectoriser picks the wrong
// loop here.
typedef double Eight __attribute__((vector_size(64), aligned(8)));
constexpr int V = W / 8;

inline const Eight *lanes(const double *values) { return reinterpret_cast<const Eight *>(values); }

SHOAL_CLONES static void squared_distances(const double *block, const double *query, int m, double *result) {
    Eight sum[V] = {};
    for (int j = 0; j < m; ++j)
        for (int i = 0; i < V; ++i) {
            const Eight difference = lanes(block + j * W)[i] - query[j];
            sum[i] += difference * difference;
        }
    for (int i = 0; i < V; ++i) reinterpret_cast<Eight *>(result)[i] = sum[i];
}

// Below every distance from the query to a point of the box, rounding included: subtraction, squaring and addition
// round monotonically, and the terms are added in the order of squared_distances.
SHOAL_CLONES static void nearest_bounds(const double *low, const double *high, const double *query, int m, double *result) {
    const Eight zero = {};
    Eight sum[V] = {};
    for (int j = 0; j < m; ++j)
        for (int i = 0; i < V; ++i) {
            const Eight below = lanes(low + j * W)[i] - query[j], above = query[j] - lanes(high + j * W)[i];
            const Eight gap = below > above ? below : above;
            const Eight outside = zero > gap ? zero : gap; // keeps NaN
            sum[i] += outside * outside;
        }
    for (int i = 0; i < V; ++i) reinterpret_cast<Eight *>(result)[i] = sum[i];
}

// Above every squared distance from the query q to a point x of the box with |x - c| <= radius, c a fixed centre:
// |x - q|^2 = |x - c|^2 + |q - c|^2 - 2 (x - c)(q - c), and the product is least at a corner of the box.
SHOAL_CLONES static void farthest_bounds(const double *low, const double *high, const double *radius2, const double *centre,
                                  const double *query, double query2, int m, double *result) {
    Eight sum[V] = {};
    for (int j = 0; j < m; ++j) {
        const double c = centre[j], q = c - query[j];
        const double *corner = q > 0.0 ? high + j * W : low + j * W;
        for (int i = 0; i < V; ++i) sum[i] += (lanes(corner)[i] - c) * q;
    }
    for (int i = 0; i < V; ++i)
        reinterpret_cast<Eight *>(result)[i] = (lanes(radius2)[i] + query2) * (1.0 + MARGIN) + 2.0 * sum[i] + TINY;
}

SHOAL_CLONES static void bounding_box(const double *low, const double *high, int m, double *box_low, double *box_high) {
    for (int j = 0; j < m; ++j) {
        double least = INF, greatest = -INF;
        for (int i = 0; i < W; ++i) {
            if (low[j * W + i] < least) least = low[j * W + i];
            if (high[j * W + i] > greatest) greatest = high[j * W + i];
        }
        const bool empty = least > greatest;
        box_low[j * W] = empty ? NONE : least;
        box_high[j * W] = empty ? NONE : greatest;
    }
}

struct Candidate {
    double distance;
    int32_t row;
    bool operator<(const Candidate &other) const {
        return distance < other.distance || (distance == other.distance && row < other.row);
    }
};

// The k nearest so far, as a heap with the farthest in front.
class Nearest {
  public:
    // `self`: a record that comes first whatever ties say, or -1.
    Nearest(const double *query, int32_t self, int k, double limit)
        : query(query), threshold(limit), self_(self), k_(k) {}

    const double *const query;
    double threshold; // a record that is farther is of no use
    std::vector<Candidate> found;

    void offer(Candidate candidate) {
        if (candidate.row == self_) candidate.distance = -1.0;
        if (static_cast<int>(found.size()) == k_) {
            if (!(candidate < found.front())) return;
            std::pop_heap(found.begin(), found.end());
            found.back() = candidate;
        } else {
            found.push_back(candidate);
        }
        std::push_heap(found.begin(), found.end());
        if (static_cast<int>(found.size()) == k_) threshold = found.front().distance;
    }

  private:
    const int32_t self_;
    const int k_;
};

struct Farthest {
    const double *query;
    double query2; // squared distance from the centre of the tree
    Candidate found{-1.0, -1};
};

class Tree {
  public:
    Tree(const double *data, int m) : data_(data), m_(m) {}

    void build(std::vector<int32_t> &rows, const double *centre) {
        centre_.assign(centre, centre + m_);
        const int64_t n = static_cast<int64_t>(rows.size());
        int64_t span = W;
        while (span < n) span *= W;
        split(rows.data(), n, span);
        fill(rows);
    }

    std::vector<Candidate> nearest(const double *query, int32_t self, int k, double limit = INF) const {
        Nearest search(query, self, k, limit);
        descend(search, top(), 0);
        return std::move(search.found);
    }

    int32_t farthest(const double *query) const {
        Farthest search{query, 0.0};
        for (int j = 0; j < m_; ++j) search.query2 += (query[j] - centre_[j]) * (query[j] - centre_[j]);
        descend(search, top(), 0);
        return search.found.row;
    }

    int64_t count_within(const double *query, double limit) const { return count_within(query, limit, top(), 0); }

    void remove(const std::vector<Candidate> &members) {
        std::vector<int64_t> touched;
        for (const Candidate &member : members) {
            const int64_t slot = slot_[member.row], block = slot / W;
            for (int j = 0; j < m_; ++j) points_[(block * m_ + j) * W + slot % W] = NONE;
            radius2_[0][slot] = NONE;
            touched.push_back(block);
        }
        for (int level = 1; level <= top(); ++level) {
            std::sort(touched.begin(), touched.end());
            touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
            for (int64_t &child : touched) {
                enclose(level, child);
                child /= W;
            }
        }
    }

  private:
    int top() const { return static_cast<int>(low_.size()) - 1; }
    double value(int32_t row, int j) const { return data_[static_cast<int64_t>(row) * m_ + j]; }

    // Order rows so that every node of the tree is a k-d cell: halve the children of a node at the median of the
    // widest attribute until one child is left, then go one level down.
    void split(int32_t *rows, int64_t n, int64_t span) {
        while (span > W && n <= span / W) span /= W;
        if (n <= W) return;
        const int64_t child = span / W, children = (n + child - 1) / child, left = children / 2 * child;
        const int j = widest(rows, n);
        std::nth_element(rows, rows + left, rows + n, [&](int32_t a, int32_t b) { return value(a, j) < value(b, j); });
        split(rows, left, span);
        split(rows + left, n - left, span);
    }

    int widest(const int32_t *rows, int64_t n) const {
        std::vector<double> low(m_, INF), high(m_, -INF);
        for (int64_t i = 0; i < n; ++i) {
            const double *x = data_ + static_cast<int64_t>(rows[i]) * m_;
            for (int j = 0; j < m_; ++j) {
                if (x[j] < low[j]) low[j] = x[j];
                if (x[j] > high[j]) high[j] = x[j];
            }
        }
        int best = 0;
        for (int j = 1; j < m_; ++j)
            if (high[j] - low[j] > high[best] - low[best]) best = j;
        return best;
    }

    void fill(const std::vector<int32_t> &rows) {
        const int64_t n = static_cast<int64_t>(rows.size());
        int64_t blocks = (n + W - 1) / W;
        points_.assign(blocks * m_ * W, NONE);
        row_.assign(blocks * W, -1);
        low_.assign(1, {}), high_.assign(1, {}), radius2_.assign(1, std::vector<double>(blocks * W, NONE));
        for (int64_t i = 0; i < n; ++i) {
            double sum = 0.0;
            for (int j = 0; j < m_; ++j) {
                const double x = value(rows[i], j);
                points_[(i / W * m_ + j) * W + i % W] = x;
                sum += (x - centre_[j]) * (x - centre_[j]);
            }
            radius2_[0][i] = sum;
            row_[i] = rows[i];
            if (static_cast<size_t>(rows[i]) >= slot_.size()) slot_.resize(rows[i] + 1);
            slot_[rows[i]] = i;
        }
        for (int level = 1; level == 1 || blocks > 1; ++level) {
            const int64_t groups = (blocks + W - 1) / W;
            low_.emplace_back(groups * m_ * W, NONE), high_.emplace_back(groups * m_ * W, NONE);
            radius2_.emplace_back(groups * W, NONE);
            for (int64_t child = 0; child < blocks; ++child) enclose(level, child);
            blocks = groups;
        }
    }

    // Set the box and the radius, held at `level`, of a child that stands one level below.
    void enclose(int level, int64_t child) {
        const int64_t lane = child / W * m_ * W + child % W;
        const double *low = level == 1 ? &points_[child * m_ * W] : &low_[level - 1][child * m_ * W];
        const double *high = level == 1 ? low : &high_[level - 1][child * m_ * W];
        bounding_box(low, high, m_, &low_[level][lane], &high_[level][lane]);
        double radius2 = -1.0;
        for (int i = 0; i < W; ++i)
            if (radius2_[level - 1][child * W + i] > radius2) radius2 = radius2_[level - 1][child * W + i];
        radius2_[level][child] = radius2 < 0.0 ? NONE : radius2;
    }

    void descend(Nearest &search, int level, int64_t group) const {
        double bounds[W];
        if (level == 0) {
            squared_distances(&points_[group * m_ * W], search.query, m_, bounds);
            for (int i = 0; i < W; ++i)
                if (bounds[i] <= search.threshold) search.offer({bounds[i], row_[group * W + i]});
            return;
        }
        nearest_bounds(&low_[level][group * m_ * W], &high_[level][group * m_ * W], search.query, m_, bounds);
        int first = 0; // the most promising child, which sets the threshold for the others
        double least = INF;
        for (int i = 0; i < W; ++i)
            if (bounds[i] < least) least = bounds[i], first = i;
        if (bounds[first] <= search.threshold) descend(search, level - 1, group * W + first);
        for (int i = 0; i < W; ++i)
            if (i != first && bounds[i] <= search.threshold) descend(search, level - 1, group * W + i);
    }

    void descend(Farthest &search, int level, int64_t group) const {
        double bounds[W];
        if (level == 0) {
            squared_distances(&points_[group * m_ * W], search.query, m_, bounds);
            for (int i = 0; i < W; ++i) {
                const int32_t row = row_[group * W + i];
                if (bounds[i] > search.found.distance || (bounds[i] == search.found.distance && row < search.found.row))
                    search.found = {bounds[i], row};
            }
            return;
        }
        farthest_bounds(&low_[level][group * m_ * W], &high_[level][group * m_ * W], &radius2_[level][group * W],
                        centre_.data(), search.query, search.query2, m_, bounds);
        int first = 0;
        double greatest = -1.0;
        for (int i = 0; i < W; ++i)
            if (bounds[i] > greatest) greatest = bounds[i], first = i;
        if (bounds[first] >= search.found.distance) descend(search, level - 1, group * W + first);
        for (int i = 0; i < W; ++i)
            if (i != first && bounds[i] >= search.found.distance) descend(search, level - 1, group * W + i);
    }

    int64_t count_within(const double *query, double limit, int level, int64_t group) const {
        double bounds[W];
        int64_t count = 0;
        if (level == 0) {
            squared_distances(&points_[group * m_ * W], query, m_, bounds);
            for (int i = 0; i < W; ++i) count += bounds[i] <= limit;
            return count;
        }
        nearest_bounds(&low_[level][group * m_ * W], &high_[level][group * m_ * W], query, m_, bounds);
        for (int i = 0; i < W; ++i)
            if (bounds[i] <= limit) count += count_within(query, limit, level - 1, group * W + i);
        return count;
    }

    const double *data_;
    const int m_;
    std::vector<double> centre_, points_;
    std::vector<int32_t> row_;
    std::vector<int64_t> slot_;
    std::vector<std::vector<double>> low_, high_, radius2_; // by level; radius2_[0] belongs to the points
};

} // namespace shoal
