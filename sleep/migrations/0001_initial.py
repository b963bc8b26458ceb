import django.db.models.deletion
import django.utils.timezone
import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    replaces = [
        ('sleep', '0001_nights_and_proposals'),
        ('sleep', '0002_changes_know_their_space'),
    ]

    dependencies = [
        ('memory', '0001_initial'),
        ('pghistory', '0007_auto_20250421_0444'),
    ]

    operations = [
        migrations.CreateModel(
            name='Night',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('local_date', models.DateField()),
                ('status', models.CharField(choices=[('running', 'Running'), ('success', 'Done'), ('failed', 'Failed')], default='running', max_length=7)),
                ('phase', models.CharField(blank=True, max_length=16)),
                ('run', models.PositiveSmallIntegerField(default=1)),
                ('asked_by', models.CharField(blank=True, max_length=160)),
                ('mode', models.CharField(default='heuristics', max_length=64)),
                ('error', models.TextField(blank=True)),
                ('attempts', models.PositiveSmallIntegerField(default=1)),
                ('cost', models.DecimalField(decimal_places=6, default=0, max_digits=12)),
                ('cost_estimate', models.DecimalField(decimal_places=6, default=0, max_digits=12)),
                ('started_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('undone_at', models.DateTimeField(blank=True, null=True)),
                ('space', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='nights', to='memory.space')),
            ],
            options={
                'indexes': [
                    models.Index(fields=['space', '-local_date'], name='night_recent'),
                ],
                'constraints': [
                    models.UniqueConstraint(fields=('space', 'local_date'), name='night_once_per_date'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Claim',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('subject', models.CharField(blank=True, max_length=120)),
                ('text', models.TextField()),
                ('key', models.CharField(max_length=64)),
                ('quote', models.TextField(blank=True)),
                ('said_by', models.CharField(blank=True, max_length=120)),
                ('language', models.CharField(blank=True, max_length=8)),
                ('kind', models.CharField(default='fact', max_length=9)),
                ('category', models.CharField(default='other', max_length=12)),
                ('curated', models.BooleanField(default=False)),
                ('mode', models.CharField(default='heuristics', max_length=64)),
                ('said_at', models.DateTimeField()),
                ('settled_at', models.DateTimeField(blank=True, null=True)),
                ('chat', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='claims', to='memory.chat')),
                ('episode', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='claims', to='memory.episode')),
                ('space', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='claims', to='memory.space')),
            ],
            options={
                'indexes': [models.Index(fields=['space', 'said_at'], name='claim_recent'), models.Index(condition=models.Q(('settled_at', None)), fields=['space', 'episode'], name='claim_open')],
                'constraints': [models.UniqueConstraint(fields=('episode', 'key'), name='claim_once_per_episode')],
            },
        ),
        migrations.CreateModel(
            name='NightChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('phase', models.CharField(max_length=16)),
                ('kind', models.CharField(max_length=32)),
                ('text', models.TextField()),
                ('context', models.UUIDField()),
                ('evidence', models.JSONField(default=list)),
                ('mode', models.CharField(default='heuristics', max_length=64)),
                ('at', models.DateTimeField(default=django.utils.timezone.now)),
                ('undone_at', models.DateTimeField(blank=True, null=True)),
                ('undone_by', models.CharField(blank=True, max_length=160)),
                ('night', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='changes', to='sleep.night')),
                ('space', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='night_changes', to='memory.space')),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='PhaseRun',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('run', models.PositiveSmallIntegerField(default=1)),
                ('phase', models.CharField(max_length=16)),
                ('position', models.PositiveSmallIntegerField()),
                ('status', models.CharField(choices=[('running', 'Running'), ('success', 'Done'), ('failed', 'Failed')], default='running', max_length=7)),
                ('plan', models.JSONField(default=list)),
                ('cursor', models.PositiveIntegerField(default=0)),
                ('counts', models.JSONField(default=dict)),
                ('lines', models.JSONField(default=list)),
                ('error', models.TextField(blank=True)),
                ('started_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('night', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='phases', to='sleep.night')),
            ],
            options={
                'constraints': [
                    models.UniqueConstraint(fields=('night', 'run', 'phase'), name='phase_once_per_run'),
                ],
                'ordering': ['position'],
            },
        ),
        migrations.CreateModel(
            name='Proposal',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('add', 'New fact'), ('revise', 'Revise'), ('supersede', 'Contradiction'), ('merge', 'Merge'), ('retire', 'Retire'), ('promote', 'Promote to the space'), ('add_pattern', 'New pattern'), ('retire_pattern', 'Retire a pattern'), ('rule', 'Change a rule'), ('preference', 'Change a preference'), ('setting', 'Change a setting'), ('release', 'Release from quarantine'), ('imported', 'Imported item'), ('advice', 'Advice')], max_length=14)),
                ('key', models.CharField(max_length=64)),
                ('title', models.CharField(max_length=200)),
                ('targets', models.JSONField(default=list)),
                ('before', models.JSONField(default=dict)),
                ('after', models.JSONField(default=dict)),
                ('digest', models.CharField(max_length=64)),
                ('rationale', models.TextField(blank=True)),
                ('evidence', models.JSONField(default=list)),
                ('confidence', models.FloatField(default=0.5)),
                ('flags', models.JSONField(default=list)),
                ('mode', models.CharField(default='heuristics', max_length=64)),
                ('cost', models.DecimalField(decimal_places=6, default=0, max_digits=12)),
                ('status', models.CharField(choices=[('pending', 'Waiting'), ('approved', 'Approved'), ('rejected', 'Rejected'), ('expired', 'Expired'), ('undone', 'Undone')], default='pending', max_length=8)),
                ('decided_name', models.CharField(blank=True, max_length=160)),
                ('decided_at', models.DateTimeField(blank=True, null=True)),
                ('reason', models.CharField(blank=True, max_length=300)),
                ('applied_as', models.UUIDField(blank=True, null=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('decided_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='decisions', to='memory.member')),
                ('night', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='proposals', to='sleep.night')),
                ('space', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='proposals', to='memory.space')),
            ],
            options={
                'indexes': [
                    models.Index(fields=['space', 'status', 'created_at'], name='proposal_queue'),
                    models.Index(fields=['night'], name='proposal_by_night'),
                ],
                'constraints': [
                    models.UniqueConstraint(fields=('space', 'key'), name='proposal_once'),
                    models.CheckConstraint(condition=models.Q(('confidence__gte', 0), ('confidence__lte', 1)), name='proposal_confidence_0_1'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Reflection',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('numbers', models.JSONField(default=dict)),
                ('insights', models.JSONField(default=list)),
                ('at', models.DateTimeField(default=django.utils.timezone.now)),
                ('night', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='reflection', to='sleep.night')),
                ('space', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='reflections', to='memory.space')),
            ],
        ),
        migrations.CreateModel(
            name='ProposalEvent',
            fields=[
                ('pgh_id', models.AutoField(primary_key=True, serialize=False)),
                ('pgh_created_at', models.DateTimeField(auto_now_add=True)),
                ('pgh_label', models.TextField(help_text='The event label.')),
                ('id', models.BigIntegerField()),
                ('kind', models.CharField(choices=[('add', 'New fact'), ('revise', 'Revise'), ('supersede', 'Contradiction'), ('merge', 'Merge'), ('retire', 'Retire'), ('promote', 'Promote to the space'), ('add_pattern', 'New pattern'), ('retire_pattern', 'Retire a pattern'), ('rule', 'Change a rule'), ('preference', 'Change a preference'), ('setting', 'Change a setting'), ('release', 'Release from quarantine'), ('imported', 'Imported item'), ('advice', 'Advice')], max_length=14)),
                ('key', models.CharField(max_length=64)),
                ('title', models.CharField(max_length=200)),
                ('targets', models.JSONField(default=list)),
                ('before', models.JSONField(default=dict)),
                ('after', models.JSONField(default=dict)),
                ('digest', models.CharField(max_length=64)),
                ('rationale', models.TextField(blank=True)),
                ('evidence', models.JSONField(default=list)),
                ('confidence', models.FloatField(default=0.5)),
                ('flags', models.JSONField(default=list)),
                ('mode', models.CharField(default='heuristics', max_length=64)),
                ('cost', models.DecimalField(decimal_places=6, default=0, max_digits=12)),
                ('status', models.CharField(choices=[('pending', 'Waiting'), ('approved', 'Approved'), ('rejected', 'Rejected'), ('expired', 'Expired'), ('undone', 'Undone')], default='pending', max_length=8)),
                ('decided_name', models.CharField(blank=True, max_length=160)),
                ('decided_at', models.DateTimeField(blank=True, null=True)),
                ('reason', models.CharField(blank=True, max_length=300)),
                ('applied_as', models.UUIDField(blank=True, null=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('decided_by', models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to='memory.member')),
                ('night', models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to='sleep.night')),
                ('pgh_context', models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='pghistory.context')),
                ('pgh_obj', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='events', to='sleep.proposal')),
                ('space', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to='memory.space')),
            ],
            options={
                'abstract': False,
            },
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='proposal',
            trigger=pgtrigger.compiler.Trigger(name='insert_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "sleep_proposalevent" ("after", "applied_as", "before", "confidence", "cost", "created_at", "decided_at", "decided_by_id", "decided_name", "digest", "evidence", "flags", "id", "key", "kind", "mode", "night_id", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "rationale", "reason", "space_id", "status", "targets", "title") VALUES (NEW."after", NEW."applied_as", NEW."before", NEW."confidence", NEW."cost", NEW."created_at", NEW."decided_at", NEW."decided_by_id", NEW."decided_name", NEW."digest", NEW."evidence", NEW."flags", NEW."id", NEW."key", NEW."kind", NEW."mode", NEW."night_id", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."rationale", NEW."reason", NEW."space_id", NEW."status", NEW."targets", NEW."title"); RETURN NULL;', hash='058cee3454097c48919de9ecf5ced3a6ffff46de', operation='INSERT', pgid='pgtrigger_insert_insert_74936', table='sleep_proposal', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='proposal',
            trigger=pgtrigger.compiler.Trigger(name='update_update', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD.* IS DISTINCT FROM NEW.*)', func='INSERT INTO "sleep_proposalevent" ("after", "applied_as", "before", "confidence", "cost", "created_at", "decided_at", "decided_by_id", "decided_name", "digest", "evidence", "flags", "id", "key", "kind", "mode", "night_id", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "rationale", "reason", "space_id", "status", "targets", "title") VALUES (NEW."after", NEW."applied_as", NEW."before", NEW."confidence", NEW."cost", NEW."created_at", NEW."decided_at", NEW."decided_by_id", NEW."decided_name", NEW."digest", NEW."evidence", NEW."flags", NEW."id", NEW."key", NEW."kind", NEW."mode", NEW."night_id", _pgh_attach_context(), NOW(), \'update\', NEW."id", NEW."rationale", NEW."reason", NEW."space_id", NEW."status", NEW."targets", NEW."title"); RETURN NULL;', hash='62beeeae90da767ed8c012119c8e72864712691c', operation='UPDATE', pgid='pgtrigger_update_update_0741e', table='sleep_proposal', when='AFTER')),
        ),
    ]
