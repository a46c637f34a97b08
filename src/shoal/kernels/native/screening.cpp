// Screens of boxes whose sensitive attribute has many values: a row is a class with one of its sensitive values.
#include "screen.h"

namespace {

using shoal::Class;
using shoal::Row;

// The sensitive values of classes: runs of the rows of a table.
class Runs {
  public:
    explicit Runs(int target) : mask_((uint64_t(1) << target) - 1), quotas_(size_t(1) << target) {}

    void at(const std::vector<Row> &table) { table_ = &table; }
    int64_t records() const { return records_; }
    size_t values() const { return quotas_.size(); }
    const std::vector<double> &quotas() const { return quotas_; }

    bool has_weights() const { return false; } // nodes are not visited in an order that could use them
    void weigh(std::vector<shoal::Far> &) const {}

    template <class Use> void each(const Class &each, Use use) const {
        for (size_t i = each.start; i < each.end; ++i) use((*table_)[i].key & mask_, (*table_)[i].count);
    }

    void count(const Class &given, std::vector<int64_t> &totals, int64_t sign) const {
        each(given, [&](uint64_t value, int64_t number) { totals[value] += sign * number; });
    }

    void count(const std::vector<Class> &classes, std::vector<int64_t> &totals) const {
        totals.assign(values(), 0);
        for (const Class &each : classes) count(each, totals, 1);
    }

    // Compare with a release from now on; return how far it is from the one before.
    double compare(const std::vector<int64_t> &totals) {
        totals_ = totals;
        records_ = std::max<int64_t>(std::accumulate(totals.begin(), totals.end(), int64_t(0)), 1);
        double moved = 0.0;
        for (size_t v = 0; v < totals.size(); ++v) {
            const double now = static_cast<double>(totals[v]) / static_cast<double>(records_);
            moved += std::abs(now - quotas_[v]);
            quotas_[v] = now;
        }
        return moved / 2;
    }

    void measure(std::vector<Class> &classes) const {
        for (Class &each : classes) each.distance = distance(each), each.drift = 0.0;
    }

    double distance(const Class &given) const {
        const double size = static_cast<double>(given.size);
        double found = 0.0;
        each(given, [&](uint64_t value, int64_t number) {
            found += std::max(0.0, static_cast<double>(number) - quotas_[value] * size);
        });
        return found / size;
    }

#if defined(__SIZEOF_INT128__)
    // The distance as an integer, of at most unit times the size of the class times the records of the release.
    shoal::Integer work(const Class &given) const {
        shoal::Integer found = 0;
        each(given, [&](uint64_t value, int64_t number) {
            found += std::max<shoal::Integer>(0, shoal::Integer(number) * records_ - shoal::Integer(totals_[value]) * given.size);
        });
        return found;
    }
    int64_t unit() const { return 1; }
#endif

  private:
    const uint64_t mask_;
    std::vector<int64_t> totals_; // what classes are compared with
    int64_t records_ = 1;
    std::vector<double> quotas_;
    const std::vector<Row> *table_ = nullptr;
};

} // namespace

// Walk over a box and return how many of its nodes may have a value of at most `best`, and of at most the least value
// that was found; write their numbers in the walk and a lower bound on their values. A class is suppressed if it is
// smaller than `smallest`, or if the proportions of the values of the sensitive attribute, the last `target` bits, are
// not as asked for, in one of the `orders`.
SHOAL_API int64_t shoal_screen_runs(int64_t rows, int64_t number, int64_t target, int64_t orders, int64_t smallest,
                                      int64_t allowed, double loss, double scale, double best, const int32_t *stages,
                                      const double *asked, const int64_t *fractions, const uint64_t *keys, const int64_t *counts,
                                      const double *costs, const int32_t *steps, const int32_t *shifts,
                                      const int32_t *bits, const int64_t *lengths, const int32_t *maps,
                                      const double *changes, const double *floors, int64_t *found, double *bounds) {
    Runs runs(target);
    shoal::Removal<Runs> removal(runs, shoal::orders_of(orders, stages, asked, fractions), loss);
    shoal::Hunt hunt(number, steps, floors, std::accumulate(counts, counts + rows, int64_t(0)), allowed, scale, best,
                     found, bounds);
    std::vector<Class> large;
    const auto visit = [&](const std::vector<Row> &table) {
        int64_t lost = 0;
        double excess = 0.0;
        large.clear();
        runs.at(table);
        for (size_t start = 0, end; start < table.size(); start = end) {
            int64_t size = 0;
            for (end = start; end < table.size() && table[end].key >> target == table[start].key >> target; ++end)
                size += table[end].count;
            if (size < smallest)
                lost += size, excess += static_cast<double>(size) * (loss - table[start].cost);
            else
                large.push_back({uint32_t(start), uint32_t(end), size, table[start].cost, 0.0, 0.0});
        }
        const auto beaten = [&](int64_t gone, double dearer) { return hunt.beaten(gone, dearer); };
        const shoal::Excess least = removal.least(large, lost, excess, beaten);
        hunt.offer(least, removal.lost());
    };
    shoal::Walk(shoal::attributes_of(number, steps, shifts, bits, lengths, maps, changes))
        .run(shoal::table_of(rows, keys, counts, costs), [&](size_t depth, size_t step) { return hunt.enter(depth, step); },
             visit);
    return hunt.finish();
}
