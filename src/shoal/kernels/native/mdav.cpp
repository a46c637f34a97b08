// MDAV, V-MDAV and insensitive microaggregation, exact. The readable twins of these functions are in
// kernels/clusters.py; both give the same labels. The centroid comes from integer sums of fixed-point values,
// which do not depend on the order of summation.
#include "shoal.h"
#include "tree.h"

#include <cmath>
#include <new>
#include <vector>

namespace {

using shoal::Candidate;
using shoal::INF;
using shoal::Tree;

constexpr int32_t OUT_OF_MEMORY = -1;

// The records that remain, with the exact sum of their fixed-point values.
class Remaining {
  public:
    Remaining(const double *data, int64_t n, int m, double scale)
        : data_(data), m_(m), scale_(scale), count_(n), alive_(n, 1), sum_(m, 0), centroid_(m), tree_(data, m) {
        for (int64_t i = 0; i < n; ++i) add(static_cast<int32_t>(i), 1);
        rebuild();
    }

    int64_t count() const { return count_; }
    const Tree &tree() const { return tree_; }
    const double *record(int32_t row) const { return data_ + static_cast<int64_t>(row) * m_; }

    const double *centroid() {
        for (int j = 0; j < m_; ++j)
            centroid_[j] = static_cast<double>(sum_[j]) / scale_ / static_cast<double>(count_);
        return centroid_.data();
    }

    void remove(const std::vector<Candidate> &members, int32_t label, int32_t *labels) {
        for (const Candidate &member : members) {
            labels[member.row] = label;
            alive_[member.row] = 0;
            add(member.row, -1);
        }
        count_ -= static_cast<int64_t>(members.size());
        if (count_ > 0 && count_ < built_ / 2)
            rebuild();
        else
            tree_.remove(members);
    }

  private:
    void add(int32_t row, int64_t sign) {
        for (int j = 0; j < m_; ++j) sum_[j] += sign * std::llrint(record(row)[j] * scale_);
    }

    void rebuild() {
        std::vector<int32_t> rows;
        rows.reserve(count_);
        for (size_t row = 0; row < alive_.size(); ++row)
            if (alive_[row]) rows.push_back(static_cast<int32_t>(row));
        tree_.build(rows, centroid());
        built_ = count_;
    }

    const double *data_;
    const int m_;
    const double scale_;
    int64_t count_, built_ = 0;
    std::vector<char> alive_;
    std::vector<int64_t> sum_;
    std::vector<double> centroid_;
    Tree tree_;
};

} // namespace

// Write the cluster of each of the n records of m attributes (row by row, absolute values at most 1) to `labels` and
// return the number of clusters. `scale`: a power of two, n * scale <= 2^62, of the fixed-point values of the centroid.
SHOAL_API int64_t shoal_mdav(const double *data, int64_t n, int64_t m, int64_t k, double scale, int32_t *labels) try {
    Remaining remaining(data, n, m, scale);
    int32_t label = 0;
    const auto cluster_around = [&](int32_t row) {
        remaining.remove(remaining.tree().nearest(remaining.record(row), row, k), label++, labels);
    };
    while (remaining.count() >= 3 * static_cast<int64_t>(k)) {
        const int32_t r = remaining.tree().farthest(remaining.centroid());
        cluster_around(r);
        cluster_around(remaining.tree().farthest(remaining.record(r)));
    }
    if (remaining.count() >= 2 * static_cast<int64_t>(k)) cluster_around(remaining.tree().farthest(remaining.centroid()));
    for (int64_t i = 0; i < n; ++i)
        if (labels[i] < 0) labels[i] = label;
    return label + 1;
} catch (const std::bad_alloc &) {
    return OUT_OF_MEMORY;
}

// As shoal_mdav, with groups of k to 2k-1 records around the record that is farthest from the centroid of all; fewer than k
// records are left with label -1. A record joins a group while its squared distance to it is below gamma2 times its
// squared distance to the nearest other record that is free.
SHOAL_API int64_t shoal_vmdav(const double *data, int64_t n, int64_t m, int64_t k, double gamma2, double scale,
                              int32_t *labels) try {
    Remaining remaining(data, n, m, scale);
    const double *global = remaining.centroid();
    const std::vector<double> centre(global, global + m);
    int32_t label = 0;
    for (; remaining.count() >= k; ++label) {
        const int32_t seed = remaining.tree().farthest(centre.data());
        std::vector<Candidate> members = remaining.tree().nearest(remaining.record(seed), seed, k);
        remaining.remove(members, label, labels);
        std::vector<Candidate> neighbours(members.size(), {INF, -1}); // of each member, its nearest free record
        while (static_cast<int64_t>(members.size()) < 2 * static_cast<int64_t>(k) - 1 && remaining.count() > 0) {
            Candidate joining{INF, INT32_MAX};
            for (size_t i = 0; i < members.size(); ++i) {
                if (neighbours[i].row < 0 || labels[neighbours[i].row] >= 0)
                    neighbours[i] = remaining.tree().nearest(remaining.record(members[i].row), -1, 1).front();
                joining = std::min(joining, neighbours[i]);
            }
            const auto found = remaining.tree().nearest(remaining.record(joining.row), joining.row, 2);
            const double outside = found.size() < 2 ? INF : found.front().distance;
            if (!(joining.distance < gamma2 * outside)) break;
            remaining.remove({joining}, label, labels);
            members.push_back(joining);
            neighbours.push_back({INF, -1});
        }
    }
    return label;
} catch (const std::bad_alloc &) {
    return OUT_OF_MEMORY;
}

// Algorithm 6.1 of the insensitive method: the i-th cluster takes the k first records that are free in order i mod count;
// the last takes the fewer than 2k that are left. Each order is walked once.
SHOAL_API int64_t shoal_in_turns(const int32_t *orders, int64_t n, int64_t count, int64_t k, int32_t *labels) try {
    std::vector<int64_t> position(count, 0);
    int32_t label = 0;
    for (int64_t left = n; left >= 2 * static_cast<int64_t>(k); left -= k, ++label) {
        const int32_t *order = orders + static_cast<int64_t>(label % count) * n;
        int64_t &next = position[label % count];
        for (int32_t taken = 0; taken < k; ++next)
            if (labels[order[next]] < 0) labels[order[next]] = label, ++taken;
    }
    for (int64_t i = 0; i < n; ++i)
        if (labels[i] < 0) labels[i] = label;
    return label + 1;
} catch (const std::bad_alloc &) {
    return OUT_OF_MEMORY;
}
